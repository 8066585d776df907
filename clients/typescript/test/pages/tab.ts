// A page for the tests of tabs: it shows nothing, and records all that it would show.
import { createClient } from "../../src/index.js";

interface Settings {
  url: string;
  token: string;
  agentId: string;
  key: string;
}

const open = async ({ url, token, agentId, key }: Settings) => {
  const service = createClient({ url, getToken: () => token });
  const chat = service.conversation({ agentId, key });
  const replies: string[] = [];
  const events: number[] = [];
  chat.subscribe(() => {
    const reply = chat.getSnapshot().messages.findLast(({ role }) => role === "agent")?.text;
    if (reply !== undefined && reply !== replies.at(-1)) replies.push(reply);
  });
  const { headSeq } = await service.events.list({});
  const follow = async () => {
    for await (const { seq } of service.events({ since: headSeq })) events.push(seq);
  };
  void follow();
  await chat.load();
  return { service, chat, replies, events, headSeq };
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
