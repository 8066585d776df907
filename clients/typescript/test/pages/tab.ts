// A page for tests: it shows nothing, and records all that it would show.
import { createClient } from "../../src/index.js";

export interface Settings {
  url: string;
  token: string;
  agentId: string;
  key: string;
  /** Follows the log of events too. */
  followsEvents?: boolean;
  /** Has the tool `open_cart`, whose calls all tabs count in `localStorage`. */
  hasTools?: boolean;
}

const openCart = async () => {
  localStorage.calls = Number(localStorage.calls ?? 0) + 1;
  while (localStorage.isHeld) await new Promise((resolve) => setTimeout(resolve, 20));
  return "open";
};

const open = async ({ url, token, agentId, key, followsEvents, hasTools }: Settings) => {
  const service = createClient({ url, getToken: () => token });
  const chat = service.conversation({ agentId, key });
  if (hasTools) chat.setTools({ open_cart: openCart });
  const replies: string[] = [];
  const completed: string[] = [];
  const events: string[] = [];
  chat.subscribe(() => {
    const reply = chat.getSnapshot().messages.findLast(({ role }) => role === "agent");
    if (reply === undefined) return;
    if (reply.text !== replies.at(-1)) replies.push(reply.text);
    if (reply.status === "complete") completed.push(reply.text);
  });
  const { headSeq } = await service.events.list({});
  const following = new AbortController();
  const follow = async () => {
    for await (const { seq, type } of service.events({ since: headSeq, signal: following.signal })) events.push(`${seq} ${type}`);
  };
  if (followsEvents) follow().catch(() => {});
  await chat.load();
  return { service, chat, replies, completed, events, stopEvents: () => following.abort() };
};

export type Tab = Awaited<ReturnType<typeof open>>;
declare global {
  interface Window {
    start(settings: Settings): Promise<void>;
    tab: Tab;
  }
}
window.start = async (settings) => {
  window.tab = await open(settings);
};
