import { afterAll, beforeAll, expect, test } from "vitest";
import { startService } from "../../../crates/api/tests/clients/service.mjs";
import { type Conversation, type ConversationState, createClient, type KeyValueStorage } from "../src/index.js";

let service: Awaited<ReturnType<typeof startService>>;
let agentId: string;
let number = 0;

beforeAll(async () => {
  service = await startService();
  agentId = await service.newAgent();
});
afterAll(() => service.stop());

/** What a page keeps over a reload. */
const storage = (): KeyValueStorage => {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
};

const newKey = (): string => `c${number++}`;

/** Opens the page of a conversation; again for a reload. */
const open = (key: string, kept: KeyValueStorage = storage(), url = service.url): Conversation =>
  createClient({ url, apiKey: service.admin }).conversation({ agentId, key, storage: kept });

const texts = ({ messages }: ConversationState): string[] => messages.map(({ text }) => text);
const statuses = ({ messages }: ConversationState): string[] => messages.map(({ status }) => status);

/** Waits until the state of a conversation fulfils a condition. */
const until = (chat: Conversation, isMet: (state: ConversationState) => boolean): Promise<void> =>
  new Promise((resolve) => {
    const check = () => {
      if (!isMet(chat.getSnapshot())) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = chat.subscribe(check);
    check();
  });

test("a message is shown at once, and its reply as it grows", async () => {
  const chat = open(newKey());
  await chat.load();
  expect(chat.getSnapshot()).toEqual({ messages: [], status: "ready" });
  const seen: string[] = [];
  chat.subscribe(() => {
    const { status, messages } = chat.getSnapshot();
    seen.push(`${status} ${messages.at(-1)?.status}`);
  });
  await chat.send("words 3 5");
  expect(seen[0]).toBe("sending sending");
  expect(seen).toContain("streaming streaming");
  expect(seen.at(-1)).toBe("ready complete");
  expect(texts(chat.getSnapshot())).toEqual(["words 3 5", "word1 word2 word3 "]);
});

test("tool calls are shown with their results", async () => {
  const chat = open(newKey());
  await chat.send("tool");
  const [, reply] = chat.getSnapshot().messages;
  expect(reply?.toolCalls).toMatchObject([{ name: "calculator", status: "ok", result: "408", arguments: { expression: "17 * 24" } }]);
});

test("a reply is generated again, and a message is edited", async () => {
  const key = newKey();
  const chat = open(key);
  await chat.send("one");
  await chat.send("two");
  await chat.regenerate();
  expect(texts(chat.getSnapshot())).toEqual(["one", "You said: one", "two", "You said: two"]);
  const [first] = chat.getSnapshot().messages;
  await chat.edit(first!.id, "uno");
  expect(texts(chat.getSnapshot())).toEqual(["uno", "You said: uno"]);
  const reloaded = open(key);
  await reloaded.load();
  expect(texts(reloaded.getSnapshot())).toEqual(["uno", "You said: uno"]);
  expect(reloaded.getSnapshot().messages.map(({ id }) => id)).toEqual(chat.getSnapshot().messages.map(({ id }) => id));
});

test("stop cancels the turn, and the reply is marked as cancelled", async () => {
  const chat = open(newKey());
  const sent = chat.send("hold");
  await until(chat, (state) => texts(state)[1] === "First half, ");
  await chat.stop();
  await sent;
  expect(statuses(chat.getSnapshot())).toEqual(["complete", "cancelled"]);
  expect(chat.getSnapshot().status).toBe("ready");
});

test("a failed turn is shown with its problem, and its half reply as failed", async () => {
  const chat = open(newKey());
  await chat.send("fail 2");
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "engine_failed" } });
  expect(statuses(chat.getSnapshot())).toEqual(["complete", "failed"]);
  await chat.send("again");
  expect(chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
});

test("a rejected message is shown as a problem and is not sent again", async () => {
  const [key, kept] = [newKey(), storage()];
  const chat = open(key, kept);
  await chat.send("x".repeat(40_000));
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "validation_failed" } });
  const reloaded = open(key, kept);
  await reloaded.load();
  expect(reloaded.getSnapshot()).toMatchObject({ messages: [], status: "ready" });
});

test("a page that reloads in the middle of a reply shows it to its end", async () => {
  const [key, kept] = [newKey(), storage()];
  const page = open(key, kept);
  void page.send("hold");
  await until(page, (state) => texts(state)[1] === "First half, ");
  page.close();
  for (const pages of [kept, storage()]) {
    const reloaded = open(key, pages);
    void reloaded.load();
    await until(reloaded, (state) => texts(state)[1] === "First half, ");
    reloaded.close();
  }
  const last = open(key, kept);
  const loaded = last.load();
  await until(last, ({ status }) => status === "streaming");
  service.model.release();
  await loaded;
  expect(texts(last.getSnapshot())).toEqual(["hold", "First half, second half."]);
  expect(statuses(last.getSnapshot())).toEqual(["complete", "complete"]);
});

test("a page that is closed at any moment sends its message once", async () => {
  for (let run = 0; run < 40; run += 1) {
    const [key, kept] = [newKey(), storage()];
    const page = open(key, kept);
    void page.send("words 5 1");
    await new Promise((resolve) => setTimeout(resolve, run % 20));
    page.close();
    const reloaded = open(key, kept);
    await reloaded.load();
    await until(reloaded, ({ status }) => status === "ready");
    expect(texts(reloaded.getSnapshot())).toEqual(["words 5 1", "word1 word2 word3 word4 word5 "]);
    expect(await service.turns(agentId, key)).toEqual(["completed"]);
  }
});

test("cuts of the connection leave no gap", async () => {
  for (let position = 1; position <= 12; position += 1) {
    const key = newKey();
    const chat = open(key, storage(), service.relay.url);
    service.relay.cutAfter(position);
    await chat.send("words 10 1");
    expect(statuses(chat.getSnapshot())).toEqual(["complete", "complete"]);
    expect(texts(chat.getSnapshot())[1]).toBe(Array.from({ length: 10 }, (_, index) => `word${index + 1} `).join(""));
    expect(await service.turns(agentId, key)).toEqual(["completed"]);
  }
  service.relay.cutAfter(Infinity);
});

test("a reply that a crash of the service has interrupted is generated again", async () => {
  const key = newKey();
  const chat = createClient({ url: service.url, apiKey: service.admin, retries: 20 }).conversation({ agentId, key });
  const sent = chat.send("words 12 20");
  await until(chat, (state) => (texts(state)[1]?.length ?? 0) > 10);
  await service.restart();
  await sent;
  expect(chat.getSnapshot().status).toBe("ready");
  expect(statuses(chat.getSnapshot())).toEqual(["complete", "complete"]);
  expect(texts(chat.getSnapshot())[1]).toBe(Array.from({ length: 12 }, (_, index) => `word${index + 1} `).join(""));
  const { messages, turns } = await service.stored(agentId, key);
  expect(messages).toHaveLength(2);
  expect(turns.map(({ status }: { status: string }) => status)).toEqual(["failed", "completed"]);
});
