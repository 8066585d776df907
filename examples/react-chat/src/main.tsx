import { createClient } from "agent-service-client";
import { useChat, useConversations, useEvents } from "agent-service-client/react";
import { useMemo } from "react";
import { createRoot } from "react-dom/client";
import Markdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { Attach, FileView, filesOf } from "./files";

const getToken = async (): Promise<string> => {
  const { token, detail = "The backend cannot be reached." } = await fetch("/token", { method: "POST" }).then((it) => it.json().catch(() => ({})));
  return token ?? Promise.reject(new Error(detail));
};
const service = createClient({ url: SERVICE, getToken });
// The address of the page ends with the key of a conversation, or a slash and its id.
const nameOf = ({ id, key }: { id: string; key?: string | null }) => key ?? `/${id}`;
const open = (name: string) => service.conversation(name.startsWith("/") ? { id: name.slice(1) } : { agentId: AGENT, key: name });
const Chat = ({ name }: { name: string }) => {
  const { messages, hasOlder, loadOlder, status, error, send, stop, regenerate, edit } = useChat(useMemo(() => open(name), [name]));
  const isBusy = status === "sending" || status === "streaming";
  const change = (id: string, text: string | null) => text && edit(id, text);
  const submit = (text: string, files: File[]) => void ((text || files[0]) && send(text, { title: text.slice(0, 60) || files[0]?.name, files }));
  return (
    <main className={status}><section><div>
        {hasOlder && <button onClick={loadOlder}>Earlier messages</button>}
        {messages.map((it) => (
          <article key={it.id} className={`${it.role} ${it.status}`} title={new Date(it.createdAt).toLocaleString()}>
            {it.files.map((file, index) => <FileView key={index} service={service} file={file} />)}{it.reasoning && <details><summary>Thinking…</summary>{it.reasoning}</details>}{it.role === "agent" ? <Markdown remarkPlugins={[remarkGfm]}>{it.text}</Markdown> : it.text}
            {it.role === "user" && <button aria-label="Edit" onClick={() => change(it.id, prompt("Edit", it.text))}>✎</button>}
          </article>
        ))}
        {error && <p role="alert">{error.title}</p>}
        {!isBusy && (error || messages.some(({ role }) => role === "user")) && <button onClick={() => regenerate()}>{error ? "Try again" : "Regenerate"}</button>}
      </div></section>
      <form action={(form) => submit(String(form.get("text")), filesOf(form))}>
        <Attach service={service} /><input name="text" aria-label="Message" placeholder="Message" autoComplete="off" />
        {isBusy ? <button key="stop" type="button" onClick={stop}>Stop</button> : <button>Send</button>}
      </form>
    </main>
  );
};
const Conversations = ({ current }: { current: string }) => {
  const { conversations, hasMore, loadMore } = useConversations(service, { agentId: AGENT });
  return (
    <nav>
      <button onClick={() => (location.hash = crypto.randomUUID())}>New chat</button>
      {conversations.map((it) => (
        <a key={it.id} href={`#${nameOf(it)}`} aria-current={nameOf(it) === current}>{it.title ?? it.excerpt ?? "New chat"}</a>
      ))}
      {hasMore && <button onClick={loadMore}>More</button>}
    </nav>
  );
};
const Activity = () => (
  <aside>{useEvents(service, { limit: 8 }).events.map(({ seq, time, type }) => <p key={seq}><time>{new Date(time).toLocaleTimeString()}</time> {type}</p>)}</aside>
);
const root = createRoot(document.getElementById("root")!);
const show = (name: string) => root.render(<><Conversations current={name} /><Chat key={name} name={name} /><Activity /></>);
addEventListener("hashchange", () => show(location.hash.slice(1)));
location.hash ||= crypto.randomUUID();
show(location.hash.slice(1));
