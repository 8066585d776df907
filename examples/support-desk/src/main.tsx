import { type Conversation, createClient } from "agent-service-client";
import { useChat, useConversations } from "agent-service-client/react";
import { type ReactNode, useActionState } from "react";
import { createRoot } from "react-dom/client";
import { type Failed, Fields, Files, filesOf, type Run, textOf, uploadFirst } from "./files";

const signIn = async () => (await fetch(`/token${location.pathname}`, { method: "POST" })).json();
const service = createClient({ url: SERVICE, getToken: async () => (await signIn()).token });
const { name } = location.pathname === "/desk" ? await signIn() : {};

const Action = ({ label, run, isMessage }: { label: string; run: Run; isMessage?: true }) => {
  const act = (_: unknown, form: FormData) => run(textOf(form), filesOf(form)).then(() => ({}), ({ title }) => ({ title, text: textOf(form), files: filesOf(form) }));
  const [{ title, ...kept }, submit, isRunning] = useActionState<Failed, FormData>(act, {});
  return <form action={submit}>{isMessage && <Fields {...kept} />}<button disabled={isRunning}>{label}</button>{title && <p role="alert">{title}</p>}</form>;
};
const Chat = ({ chat, send, children }: { chat: Conversation; send: false | Run; children: ReactNode }) => {
  const { messages, error, typing } = useChat(chat);
  const shown = messages.map((it) => <li key={it.id} className={it.role}><b>{it.author?.name ?? it.role}</b>{it.text}<Files service={service} of={it} />{!name && it.error && <><p role="alert">{it.error.title}</p><Action label="Try again" run={() => chat.regenerate(it.id)} /></>}</li>);
  const state = <>{error && (name || !messages.some((it) => it.error)) && <p role="alert">{error.title}</p>}<p aria-live="polite">{typing && "Typing…"}</p>{children}</>;
  return <main onInput={() => chat.setTyping(true)}><section><ol>{shown}</ol></section>{state}{send && <Action label="Send" run={send} isMessage />}</main>;
};

const visited = service.conversation({ agentId: AGENT, key: "support" });
const Visitor = () => {
  const known = useConversations(service, { agentId: AGENT }).conversations.find(({ key }) => key === "support");
  const open = async () => known ?? service.conversations.create({ agentId: AGENT, conversationKey: "support" });
  const ask = async () => service.conversations.patch((await open()).id, { handledBy: "staff" });
  const state = known?.handledBy === "staff" ? <p role="status">A colleague will answer here.</p> : <Action label="Talk to a person" run={ask} />;
  return <Chat chat={visited} send={(text, files) => open().then(() => void visited.send(text, { files }))}>{state}</Chat>;
};

const Desk = ({ id, chat }: { id: string; chat: Conversation }) => {
  const lists = [useConversations(service, { assignee: name }), useConversations(service, { waiting: true })];
  const all = new Map(lists.flatMap(({ conversations }) => conversations.map((it) => [it.id, it])));
  const links = [...all.values()].map((it) => <a key={it.id} href={`#${it.id}`} aria-current={it.id === id}>{it.excerpt} <b>{it.assignee}</b></a>);
  const { version, assignee } = all.get(id) ?? {};
  const change = (to: object) => service.conversations.patch(id, to, { headers: { "If-Match": `"v${version}"` } });
  const write = (content: string, files: string[]) => service.conversations.writeMessage(id, { content, files, author: { name } }).finally(() => chat.setTyping(false));
  const claim = assignee ? <p role="status">{assignee} has taken it.</p> : <Action label="Claim" run={() => change({ assignee: name })} />;
  const state = assignee === name ? <Action label="Hand back" run={() => change({ handledBy: "agent" })} /> : claim;
  return <><nav>{links}</nav>{version ? <Chat key={id} chat={chat} send={assignee === name && uploadFirst(service, write)}>{state}</Chat> : <main />}</>;
};

const root = createRoot(document.getElementById("root")!);
const show = (id = location.hash.slice(1) || "none") => root.render(name ? <Desk id={id} chat={service.conversation({ id })} /> : <Visitor />);
addEventListener("hashchange", () => show());
show();
