import { expect, test, vi } from "vitest";
import { createClient } from "../src/index.js";
import { agentId, newKey, open, service, statuses, texts, until, useService } from "./conversations.js";
import { memoryStorage } from "./memory-storage.js";

useService();

test("a message is shown at once, and its reply as it grows", async () => {
  const chat = open(newKey());
  await chat.load();
  expect(chat.getSnapshot()).toEqual({ messages: [], hasOlder: false, status: "ready" });
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
  expect(statuses(chat.getSnapshot())).toEqual(["cancelled", "cancelled"]);
  expect(chat.getSnapshot().status).toBe("ready");
});

test("a failed turn is shown with its problem, and its half reply as failed", async () => {
  const chat = open(newKey());
  await chat.send("fail 2");
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "engine_failed" } });
  expect(statuses(chat.getSnapshot())).toEqual(["failed", "failed"]);
  await chat.send("again");
  expect(chat.getSnapshot().status).toBe("ready");
  expect(chat.getSnapshot().error).toBeUndefined();
  // A reply that has not begun is not shown.
  await chat.send("fail");
  expect(chat.getSnapshot().messages.at(-1)).toMatchObject({ role: "user", text: "fail", status: "failed" });
  await chat.regenerate();
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "engine_failed" } });
  expect(texts(chat.getSnapshot()).slice(-2)).toEqual(["You said: again", "fail"]);
});

test("a rejected message is shown as a problem and is not sent again", async () => {
  const [key, kept] = [newKey(), memoryStorage()];
  const chat = open(key, kept);
  await chat.send("x".repeat(40_000));
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "validation_failed" } });
  const reloaded = open(key, kept);
  await reloaded.load();
  expect(reloaded.getSnapshot()).toMatchObject({ messages: [], status: "ready" });
});

test("messages that are sent together are answered one after the other", async () => {
  const key = newKey();
  const chat = open(key);
  await Promise.all([chat.send("words 4 5"), chat.send("second"), chat.send("third")]);
  const expected = ["words 4 5", "word1 word2 word3 word4 ", "second", "You said: second", "third", "You said: third"];
  expect(texts(chat.getSnapshot())).toEqual(expected);
  expect(new Set(statuses(chat.getSnapshot()))).toEqual(new Set(["complete"]));
  const { messages } = await service.stored(agentId, key);
  expect(chat.getSnapshot().messages.map(({ id }) => id)).toEqual(messages.map(({ id }: { id: string }) => id));
});

test("an edit that was rejected changes nothing, then or after a reload", async () => {
  const [key, kept] = [newKey(), memoryStorage()];
  const chat = open(key, kept);
  await chat.send("one");
  const [first] = chat.getSnapshot().messages;
  const held = open(key, memoryStorage());
  const holding = held.send("hold");
  await until(held, (state) => texts(state).at(-1) === "First half, ");
  for (const text of ["uno", "x".repeat(40_000)]) {
    await chat.edit(first!.id, text);
    expect(chat.getSnapshot().status).toBe("failed");
    expect(texts(chat.getSnapshot())).toEqual(["one", "You said: one"]);
  }
  service.model.release();
  await holding;
  const reloaded = open(key, kept);
  await reloaded.load();
  expect(texts(reloaded.getSnapshot())).toEqual(["one", "You said: one", "hold", "First half, second half."]);
});

test("a conversation without a key is opened by its id, with its changes", async () => {
  const client = createClient({ url: service.url, apiKey: service.admin });
  const listed = await client.conversations.create({ agentId, title: "without a key" });
  const [chat, other] = [client.conversation(listed), client.conversation({ id: listed.id })];
  await Promise.all([chat.load(), other.load()]);
  expect(chat.getSnapshot()).toEqual({ messages: [], hasOlder: false, status: "ready" });
  await chat.send("one");
  await until(other, ({ status, messages }) => status === "ready" && messages.length === 2);
  expect(other.getSnapshot().messages).toEqual(chat.getSnapshot().messages);
  await chat.edit(chat.getSnapshot().messages[0]!.id, "uno");
  await chat.regenerate();
  expect(texts(chat.getSnapshot())).toEqual(["uno", "You said: uno"]);
  expect((await client.conversations.get(listed.id)).key).toBeNull();
  await client.conversations.delete(listed.id);
  await until(chat, ({ status }) => status === "failed");
  expect(chat.getSnapshot()).toMatchObject({ messages: [], error: { code: "conversation_not_found" } });
  for (const page of [chat, other]) page.close();
});

test("a conversation needs an id, or an agent and a key", () => {
  const client = createClient({ url: service.url, apiKey: service.admin });
  for (const name of [{ agentId, key: null }, { agentId }, { key: "key" }, { id: "" }, {}]) {
    expect(() => client.conversation(name as never)).toThrow(TypeError);
  }
});

test("the first message gives the conversation its title", async () => {
  const key = newKey();
  const chat = open(key);
  await chat.send("one", { title: "First", metadata: { page: "home" } });
  await chat.send("two", { title: "Second" });
  const client = createClient({ url: service.url, apiKey: service.admin });
  const { data } = await client.conversations.list({ agentId, key });
  expect(data.map(({ title }) => title)).toEqual(["First"]);
});

test("stop cancels a turn once, and none if there is none", async () => {
  const cancelled: string[] = [];
  const counting: typeof fetch = async (input, init) => {
    if (String(input).endsWith("/cancel")) cancelled.push(String(input));
    return fetch(input, init);
  };
  const chat = createClient({ url: service.url, apiKey: service.admin, fetch: counting }).conversation({ agentId, key: newKey() });
  await chat.load();
  await chat.stop();
  const sent = chat.send("hold");
  await until(chat, (state) => texts(state)[1] === "First half, ");
  await chat.stop();
  await sent;
  expect(cancelled).toHaveLength(1);
  await chat.send("Hello");
  expect(texts(chat.getSnapshot()).at(-1)).toBe("You said: Hello");
  expect(cancelled).toHaveLength(1);
});

test("stop before the turn has started cancels it", async () => {
  const key = newKey();
  const chat = open(key);
  await chat.load();
  const sent = chat.send("hold");
  await until(chat, ({ status }) => status === "sending");
  await chat.stop();
  await sent;
  await expect.poll(() => service.turns(agentId, key)).toEqual(["cancelled"]);
  expect(chat.getSnapshot().status).toBe("ready");
});

test("a message that has failed is answered again, with a reload in between or not", async () => {
  const key = newKey();
  const chat = open(key);
  await chat.send("before");
  await chat.send("fail 2");
  for (const page of [chat, open(key)]) {
    await page.load();
    expect(page.getSnapshot()).toMatchObject({ status: "failed", error: { code: "engine_failed", title: "The reply engine failed." } });
    await page.regenerate();
    expect(page.getSnapshot().status).toBe("failed");
    expect(texts(page.getSnapshot()).slice(0, 3)).toEqual(["before", "You said: before", "fail 2"]);
  }
});

test("a message that was rejected, or could not be sent, is sent again", async () => {
  let isRejected = false;
  let isOffline = false;
  const failing: typeof fetch = async (input, init) => {
    if (isOffline) throw new TypeError("offline");
    if (!isRejected || init?.method !== "POST") return fetch(input, init);
    const problem = { code: "unsupported_media_type", status: 415, title: "", detail: "", type: "", retryable: false };
    return new Response(JSON.stringify(problem), { status: 415, headers: { "Content-Type": "application/problem+json" } });
  };
  const key = newKey();
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: failing, retries: 0 });
  const chat = client.conversation({ agentId, key, storage: memoryStorage() });
  isOffline = true;
  await chat.load();
  expect(chat.getSnapshot().status).toBe("failed");
  isOffline = false;
  await chat.regenerate();
  expect(chat.getSnapshot()).toEqual({ messages: [], hasOlder: false, status: "ready" });
  isRejected = true;
  await chat.send("one");
  expect(statuses(chat.getSnapshot())).toEqual(["failed"]);
  isRejected = false;
  await chat.regenerate();
  isOffline = true;
  await chat.send("two");
  expect(statuses(chat.getSnapshot()).at(-1)).toBe("sending");
  isOffline = false;
  await chat.regenerate();
  expect(texts(chat.getSnapshot())).toEqual(["one", "You said: one", "two", "You said: two"]);
  await expect.poll(() => service.turns(agentId, key)).toEqual(["completed", "completed"]);
  chat.close();
});

test("a rejected message stays shown until it is sent again, with all that it had", async () => {
  const [key, sent]: [string, { title?: string; metadata?: object; message: string }[]] = [newKey(), []];
  const shortened: typeof fetch = async (input, init) => {
    if (!String(input).endsWith("/api/chat")) return fetch(input, init);
    const body = JSON.parse(String(init?.body));
    sent.push(body);
    return fetch(input, sent.length === 1 ? { ...init, body: JSON.stringify({ ...body, message: "x".repeat(40_000) }) } : init);
  };
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: shortened });
  const chat = client.conversation({ agentId, key, storage: memoryStorage() });
  await chat.load();
  await chat.send("mine", { title: "A title", metadata: { order: "7" } });
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "validation_failed" } });
  const other = open(key);
  await other.send("of another tab");
  await until(chat, ({ status, messages }) => status === "ready" && messages.length === 3);
  await chat.load();
  expect(chat.getSnapshot().status).toBe("ready");
  expect(texts(chat.getSnapshot())).toEqual(["of another tab", "You said: of another tab", "mine"]);
  expect(statuses(chat.getSnapshot())).toEqual(["complete", "complete", "failed"]);
  await chat.regenerate();
  expect(texts(chat.getSnapshot())).toEqual(["of another tab", "You said: of another tab", "mine", "You said: mine"]);
  expect(sent).toMatchObject([1, 2].map(() => ({ message: "mine", title: "A title", metadata: { order: "7" } })));
  for (const page of [chat, other]) page.close();
});

test("a listener that throws disturbs neither a message nor another listener", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const key = newKey();
  const chat = open(key);
  let calls = 0;
  chat.subscribe(() => {
    throw new Error("of the page");
  });
  chat.subscribe(() => void (calls += 1));
  await chat.send("Hello");
  expect(texts(chat.getSnapshot())).toEqual(["Hello", "You said: Hello"]);
  expect(calls).toBeGreaterThan(1);
  expect(logged).toHaveBeenCalledWith(new Error("of the page"));
  logged.mockRestore();
});
