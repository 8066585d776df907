// Conversations that are longer than a page.
import { beforeAll, expect, test, vi } from "vitest";
import { type Conversation, createClient } from "../src/index.js";
import { agentId, newKey, open, service, texts, unreliable, until, useService } from "./conversations.js";
import { memoryStorage } from "./memory-storage.js";

useService();

let staff: ReturnType<typeof createClient>;
/** A conversation with 1,000 messages of staff, and the ids of these. */
let long: string;
let written: string[];

const write = (id: string, content: string) => staff.conversations.writeMessage(id, { content });
const writeAll = async (id: string, count: number): Promise<void> => {
  for (let left = count; left > 0; left -= 20) await Promise.all(Array.from({ length: Math.min(left, 20) }, () => write(id, "a message")));
};

beforeAll(async () => {
  staff = createClient({ url: service.url, apiKey: service.admin });
  long = (await staff.conversations.create({ agentId })).id;
  await writeAll(long, 1_000);
  written = await storedIds(long);
}, 120_000);

/** Creates a conversation with the first messages of the long one. */
const newConversation = async (count: number) => {
  const key = newKey();
  const forkOf = { conversationId: long, messageId: written[count - 1] as string };
  const { id } = await staff.conversations.create(count > 0 ? { conversationKey: key, forkOf } : { agentId, conversationKey: key });
  return { id, key };
};

/** Returns the ids of all messages of a conversation, as the service lists them. */
const storedIds = async (id: string): Promise<string[]> => {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { data, nextCursor } = await staff.conversations.listMessages(id, { limit: 100, cursor });
    ids.push(...data.map((message) => message.id));
    if (!nextCursor) return ids;
    cursor = nextCursor;
  }
};

const idsOf = (chat: Conversation): string[] => chat.getSnapshot().messages.map(({ id }) => id);

const loadAll = async (chat: Conversation): Promise<void> => {
  while (chat.getSnapshot().hasOlder) await chat.loadOlder();
};

/** The page shows exactly what is stored, in its order. */
const expectStored = (chat: Conversation, id: string): Promise<void> =>
  vi.waitFor(async () => expect(idsOf(chat)).toEqual(await storedIds(id)), { timeout: 10_000, interval: 100 });

test("of 1,000 messages the newest page is loaded at first, and each older one once", async () => {
  const { id } = await newConversation(1_000);
  let pages = 0;
  const counting: typeof fetch = (input, init) => {
    if (String(input).includes("/messages")) pages += 1;
    return fetch(input, init);
  };
  const chat = createClient({ url: service.url, apiKey: service.admin, fetch: counting }).conversation({ id });
  await chat.loadOlder();
  expect(pages).toBe(0);
  await chat.load();
  expect(pages).toBe(1);
  expect(idsOf(chat)).toEqual((await storedIds(id)).slice(-100));
  expect(chat.getSnapshot().hasOlder).toBe(true);
  // A page that asks twice, such as at the end of a scroll, receives one page.
  await Promise.all([chat.loadOlder(), chat.loadOlder()]);
  expect([pages, texts(chat.getSnapshot()).length]).toEqual([2, 200]);
  await loadAll(chat);
  expect(pages).toBe(10);
  expect(idsOf(chat)).toHaveLength(1_000);
  expect(idsOf(chat)).toEqual(await storedIds(id));
  await chat.loadOlder();
  expect(pages).toBe(10);
  // A new message costs one page, however many are shown.
  await write(id, "new");
  await until(chat, (state) => texts(state).at(-1) === "new");
  expect([pages, texts(chat.getSnapshot()).length]).toEqual([11, 1_001]);
  chat.close();
});

test("messages that arrive while older ones are read are shown once, in their order", async () => {
  const { id, key } = await newConversation(330);
  const [chat, other] = [open(key), open(key)];
  await Promise.all([chat.load(), other.load()]);
  const writing = (async () => {
    for (let number = 0; number < 40; number += 1) await write(id, `live ${number}`);
  })();
  await Promise.all([writing, loadAll(chat), chat.send("words 8 5"), other.send("of another tab")]);
  await expectStored(chat, id);
  expect(chat.getSnapshot().hasOlder).toBe(false);
  for (const page of [chat, other]) page.close();
});

test("changes of older messages by others are shown", async () => {
  const { id, key } = await newConversation(10);
  const [chat, other] = [open(key), open(key)];
  await other.send("question");
  await writeAll(id, 120);
  await Promise.all([chat.load(), other.load()]);
  for (const page of [chat, other]) await loadAll(page);
  await expectStored(chat, id);
  const [first, second, third] = idsOf(chat);
  await staff.conversations.patchMessage(id, first!, { content: "changed" });
  await until(chat, (state) => texts(state)[0] === "changed");
  await staff.conversations.deleteMessage(id, second!);
  await until(chat, ({ messages }) => messages[1]?.id === third);
  await expectStored(chat, id);
  // What staff has written stays.
  const question = other.getSnapshot().messages.find(({ role }) => role === "user");
  await other.edit(question!.id, "another question");
  await until(chat, (state) => texts(state).at(-1) === "You said: another question" && state.status === "ready");
  expect(texts(chat.getSnapshot())).not.toContain("question");
  for (const page of [chat, other]) await expectStored(page, id);
  for (const page of [chat, other]) page.close();
});

test("older messages are read after messages and edits of this page, also without its events", async () => {
  const { id, key } = await newConversation(0);
  const sender = open(key);
  for (let number = 0; number < 52; number += 1) await sender.send(`message ${number}`);
  for (const scopes of ["chat:write,conversations:read", "chat:write,conversations:read,events:read"]) {
    const chat = createClient({ url: service.url, apiKey: service.key(scopes) }).conversation({ agentId, key, storage: memoryStorage() });
    await chat.load();
    await chat.send("Hello");
    expect(texts(chat.getSnapshot())).toHaveLength(102);
    await chat.edit(chat.getSnapshot().messages.findLast(({ role }) => role === "user")!.id, "Bye");
    expect(texts(chat.getSnapshot()).slice(-2)).toEqual(["Bye", "You said: Bye"]);
    await chat.loadOlder();
    await expectStored(chat, id);
    await chat.edit(idsOf(chat)[2]!, "edited");
    expect(texts(chat.getSnapshot())).toEqual(["message 0", "You said: message 0", "edited", "You said: edited"]);
    await chat.load();
    await expectStored(chat, id);
    chat.close();
    for (let number = 0; number < 52; number += 1) await sender.send(`message ${number}`);
  }
});

test("more new messages than a page leave no gap", async () => {
  const { id, key } = await newConversation(150);
  const chat = open(key);
  await chat.load();
  await chat.loadOlder();
  chat.close();
  await writeAll(id, 110);
  await chat.load();
  const shown = idsOf(chat);
  expect(shown).toEqual((await storedIds(id)).slice(-shown.length));
  await loadAll(chat);
  await expectStored(chat, id);
  chat.close();
});

test("older messages that could not be read are read later, and nothing is replaced by that", async () => {
  const { id, key } = await newConversation(250);
  const network = unreliable();
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: network.fetch, retries: 0 });
  const chat = client.conversation({ agentId, key, storage: memoryStorage() });
  await chat.load();
  await chat.send("Hello");
  const count = texts(chat.getSnapshot()).length;
  for (const again of [() => chat.loadOlder(), () => chat.regenerate().then(chat.loadOlder)]) {
    network.isOffline = true;
    await chat.loadOlder();
    expect(chat.getSnapshot()).toMatchObject({ status: "failed", hasOlder: true, error: { code: "offline", retryable: true } });
    network.isOffline = false;
    await again();
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    expect(texts(chat.getSnapshot()).length).toBeGreaterThan(count);
  }
  expect(texts(chat.getSnapshot()).slice(-2)).toEqual(["Hello", "You said: Hello"]);
  await expectStored(chat, id);
  expect(await service.turns(agentId, key)).toEqual(["completed"]);
  chat.close();
});
