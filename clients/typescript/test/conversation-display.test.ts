// What pages show of messages: times, errors, and a reply only once it has begun.
import { expect, test, vi } from "vitest";
import { type Conversation, createClient } from "../src/index.js";
import { agentId, newKey, open, service, statuses, texts, until, useService } from "./conversations.js";
import { memoryStorage } from "./memory-storage.js";

useService();

const timesOf = (chat: Conversation): string[] => chat.getSnapshot().messages.map(({ createdAt }) => createdAt);
const storedTimes = async (key: string) =>
  (await service.stored(agentId, key)).messages.map(({ createdAt }: { createdAt: string }) => createdAt);

test("every message has a time: that of the device until it is stored", async () => {
  const key = newKey();
  const [chat, other] = [open(key), open(key)];
  await Promise.all([chat.load(), other.load()]);
  const wrong = "1999-12-31T23:59:59.000Z";
  const clock = vi.spyOn(Date.prototype, "toISOString").mockReturnValue(wrong);
  const sent = chat.send("hold");
  expect(timesOf(chat)).toEqual([wrong]);
  await until(chat, (state) => texts(state)[1] === "First half, ");
  expect(timesOf(chat)[1]).toBe(wrong);
  clock.mockRestore();
  service.model.release();
  await sent;
  for (const page of [chat, other]) await vi.waitFor(async () => expect(timesOf(page)).toEqual(await storedTimes(key)), 10_000);
  for (const page of [chat, other]) page.close();
});

test("without events, the reply has its stored time, and the message has it once it is read", async () => {
  const key = newKey();
  const client = createClient({ url: service.url, apiKey: service.key("chat:write,conversations:read") });
  const chat = client.conversation({ agentId, key, storage: memoryStorage() });
  await chat.load();
  await chat.send("Hello");
  const stored = await storedTimes(key);
  expect(timesOf(chat)[1]).toBe(stored[1]);
  expect(Math.abs(Date.parse(timesOf(chat)[0]!) - Date.parse(stored[0]))).toBeLessThan(60_000);
  const reloaded = client.conversation({ agentId, key, storage: memoryStorage() });
  await reloaded.load();
  expect(timesOf(reloaded)).toEqual(stored);
  for (const page of [chat, reloaded]) page.close();
});

const FAILED = { code: "engine_failed", title: "The reply engine failed.", retryable: true };

test("a message whose turn has failed shows why and is sent again, after a reload and behind other messages too", async () => {
  const [key, kept] = [newKey(), memoryStorage()];
  const chat = open(key, kept);
  await chat.load();
  await chat.send("fail 2");
  expect(chat.getSnapshot().messages[0]).toMatchObject({ status: "failed", error: FAILED });
  const reloaded = open(key, kept);
  await reloaded.load();
  expect(reloaded.getSnapshot()).toMatchObject({ status: "failed", error: FAILED });
  expect(reloaded.getSnapshot().messages).toMatchObject([{ text: "fail 2", status: "failed", error: FAILED }]);
  await reloaded.regenerate();
  await expect.poll(() => service.turns(agentId, key)).toEqual(["failed", "failed"]);
  await reloaded.send("next");
  const last = open(key, kept);
  await last.load();
  expect(last.getSnapshot().status).toBe("ready");
  expect(last.getSnapshot().messages).toMatchObject([{ status: "failed", error: FAILED }, { text: "next" }, { text: "You said: next" }]);
  expect(last.getSnapshot().messages[1]!.error).toBeUndefined();
  await last.regenerate(last.getSnapshot().messages[0]!.id);
  expect(last.getSnapshot().messages[0]).toMatchObject({ text: "fail 2", status: "failed", error: FAILED });
  await last.edit(last.getSnapshot().messages[0]!.id, "fine");
  expect(texts(last.getSnapshot())).toEqual(["fine", "You said: fine"]);
  expect(last.getSnapshot().messages[0]!.error).toBeUndefined();
  for (const page of [chat, reloaded, last]) page.close();
});

test("a message that was rejected shows why until it is sent again", async () => {
  const chat = open(newKey());
  await chat.load();
  await chat.send("x".repeat(40_000));
  expect(chat.getSnapshot().messages).toMatchObject([{ status: "failed", error: { code: "validation_failed", retryable: false } }]);
  chat.close();
});

test("a page that is offline shows a sentence, and keeps the message", async () => {
  vi.stubGlobal("navigator", { onLine: false });
  const offline = () => Promise.reject(new TypeError("fetch failed"));
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: offline, retries: 0, webSocket: null });
  const chat = client.conversation({ agentId, key: newKey(), storage: memoryStorage() });
  try {
    for (const act of [chat.load, () => chat.send("Hello"), chat.regenerate]) {
      await act();
      expect(chat.getSnapshot()).toMatchObject({
        status: "failed",
        error: { code: "offline", title: "You are offline.", retryable: true },
      });
    }
    expect(statuses(chat.getSnapshot())).toEqual(["sending"]);
  } finally {
    chat.close();
    vi.unstubAllGlobals();
  }
});

/** Records the messages of the agent that a page shows without a text and without a call. */
const recordEmpty = (chat: Conversation): { count: number; states: number } => {
  const seen = { count: 0, states: 0 };
  chat.subscribe(() => {
    seen.states += 1;
    seen.count += chat.getSnapshot().messages.filter(({ role, text, toolCalls }) => role === "agent" && !text && !toolCalls.length).length;
  });
  return seen;
};

test("no reply is shown before its first text, nor one that has none", async () => {
  const key = newKey();
  const [chat, other] = [open(key), open(key)];
  const seen = [recordEmpty(chat), recordEmpty(other)];
  await Promise.all([chat.load(), other.load()]);
  let waited = 0;
  chat.subscribe(() => void (waited += Number(chat.getSnapshot().status === "streaming" && chat.getSnapshot().messages.length === 1)));
  await chat.send("words 3 5");
  expect(waited).toBeGreaterThan(0);
  await chat.send("fail");
  await chat.send("tool");
  const stopped = chat.send("hold");
  await until(chat, ({ status }) => status === "streaming");
  await chat.stop();
  await stopped;
  await chat.edit(chat.getSnapshot().messages.findLast(({ role }) => role === "user")!.id, "Hello");
  for (const page of [chat, other]) await until(page, (state) => state.status === "ready");
  const reloaded = open(key);
  await reloaded.load();
  expect(seen.map(({ count }) => count)).toEqual([0, 0]);
  expect(Math.min(...seen.map(({ states }) => states))).toBeGreaterThan(10);
  for (const page of [chat, other, reloaded]) page.close();
});

test("a turn that was cancelled before its reply began shows none, and is started again", async () => {
  const bodies: { supersedes?: string; message?: string }[] = [];
  const parts = (turn: string, ...types: object[]) =>
    types.map((part) => `data: ${JSON.stringify({ turnId: turn, ...part })}\n\n`).join("");
  const cancelling: typeof fetch = async (_input, init) => {
    if (init?.method !== "POST") return Response.json({ data: [], headSeq: 0 });
    bodies.push(JSON.parse(String(init.body)));
    const turn = String(bodies.length);
    return new Response(parts(turn, { type: "turn.started", messageId: `m${turn}`, replyId: `r${turn}` }, { type: "turn.cancelled" }));
  };
  const client = createClient({ url: "https://agents.example.org", apiKey: "key", fetch: cancelling, webSocket: null });
  const chat = client.conversation({ agentId: "agent", key: "key", storage: memoryStorage() });
  await chat.send("Hello");
  expect(chat.getSnapshot()).toMatchObject({ status: "ready", messages: [{ id: "m1", text: "Hello", status: "cancelled" }] });
  await chat.regenerate();
  expect(bodies[1]).toMatchObject({ supersedes: "m1", message: "Hello" });
  expect(chat.getSnapshot()).toMatchObject({ status: "ready", messages: [{ id: "m2", text: "Hello", status: "cancelled" }] });
  chat.close();
});

test("a message to staff has no reply, also on a page that learns of it after the agent is back", async () => {
  const key = newKey();
  let held: Promise<void> | undefined;
  const slow: typeof fetch = async (input, init) => {
    if (String(input).includes("/api/conversations?")) await held;
    return fetch(input, init);
  };
  const staff = createClient({ url: service.url, apiKey: service.admin });
  const chat = open(key);
  const late = createClient({ url: service.url, apiKey: service.admin, fetch: slow }).conversation({
    agentId,
    key,
    storage: memoryStorage(),
  });
  const seen = [recordEmpty(chat), recordEmpty(late)];
  await chat.load();
  await chat.send("one");
  await late.load();
  const { data } = await staff.conversations.list({ agentId, key });
  await staff.conversations.patch(data[0]!.id, { handledBy: "staff" });
  let release = () => {};
  held = new Promise((resolve) => (release = resolve));
  await chat.send("two");
  await staff.conversations.patch(data[0]!.id, { handledBy: "agent" });
  release();
  for (const page of [chat, late]) {
    await until(page, (state) => state.status === "ready" && texts(state).join() === "one,You said: one,two");
  }
  await chat.send("three");
  await until(late, (state) => state.status === "ready" && texts(state).length === 5);
  expect(seen.map(({ count }) => count)).toEqual([0, 0]);
  for (const page of [chat, late]) page.close();
});
