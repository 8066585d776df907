// Conversations over reloads, lost connections and outages.
import { expect, test } from "vitest";
import { type Conversation, createClient } from "../src/index.js";
import { agentId, newKey, open, service, statuses, texts, unreliable, until, useService } from "./conversations.js";
import { memoryStorage } from "./memory-storage.js";

useService();

test("a page that reloads in the middle of a reply shows it to its end", async () => {
  const [key, kept] = [newKey(), memoryStorage()];
  const page = open(key, kept);
  void page.send("hold");
  await until(page, (state) => texts(state)[1] === "First half, ");
  page.close();
  for (const pages of [kept, memoryStorage()]) {
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
    const [key, kept] = [newKey(), memoryStorage()];
    const page = open(key, kept);
    void page.send("words 5 1");
    await new Promise((resolve) => setTimeout(resolve, run % 20));
    page.close();
    const reloaded = open(key, kept);
    await reloaded.load();
    await until(reloaded, ({ status }) => status === "ready");
    expect(texts(reloaded.getSnapshot())).toEqual(["words 5 1", "word1 word2 word3 word4 word5 "]);
    await expect.poll(() => service.turns(agentId, key)).toEqual(["completed"]);
  }
});

test("a message that could not be sent is sent although another one has arrived meanwhile", async () => {
  const key = newKey();
  let isCut = true;
  const cutting: typeof fetch = (input, init) =>
    isCut && init?.method === "POST" && `${input}`.endsWith("/api/chat") ? Promise.reject(new TypeError("cut")) : fetch(input, init);
  const other = open(key, memoryStorage());
  await other.send("first");
  const chat = createClient({ url: service.url, apiKey: service.admin, fetch: cutting, retries: 0 }).conversation({
    agentId,
    key,
    storage: memoryStorage(),
  });
  await chat.load();
  await chat.send("second");
  expect(chat.getSnapshot().status).toBe("failed");
  await other.send("third");
  await until(chat, ({ status, messages }) => status === "ready" && messages.some(({ text }) => text === "You said: third"));
  isCut = false;
  await expect.poll(() => statuses(chat.getSnapshot()), { timeout: 20_000 }).toEqual(Array(6).fill("complete"));
  expect(texts(chat.getSnapshot()).slice(4)).toEqual(["second", "You said: second"]);
  chat.close();
  other.close();
});

test("cuts of the connection leave no gap", async () => {
  for (let position = 1; position <= 12; position += 1) {
    const key = newKey();
    const chat = open(key, memoryStorage(), service.relay.url);
    service.relay.cutAfter(position);
    await chat.send("words 10 1");
    expect(statuses(chat.getSnapshot())).toEqual(["complete", "complete"]);
    expect(texts(chat.getSnapshot())[1]).toBe(Array.from({ length: 10 }, (_, index) => `word${index + 1} `).join(""));
    await expect.poll(() => service.turns(agentId, key)).toEqual(["completed"]);
  }
  service.relay.cutAfter(Infinity);
});

test("cuts leave a message and its reply as they are, with any characters", async () => {
  const text = "one\u2028two\u2029three\u0085four\rfive\r\nsix\n\nseven: eight";
  for (let position = 1; position <= 4; position += 1) {
    const chat = open(newKey(), memoryStorage(), service.relay.url);
    service.relay.cutAfter(position);
    await chat.send(text);
    expect(texts(chat.getSnapshot())).toEqual([text, `You said: ${text}`]);
    expect(statuses(chat.getSnapshot())).toEqual(["complete", "complete"]);
  }
  service.relay.cutAfter(Infinity);
});

test("a reply that a crash of the service has interrupted goes on", async () => {
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
  expect(turns.map(({ status }: { status: string }) => status)).toEqual(["completed"]);
});

test("messages that were written offline are sent in their order after a reload", async () => {
  const [key, kept, network] = [newKey(), memoryStorage(), unreliable()];
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: network.fetch, retries: 0 });
  const page = client.conversation({ agentId, key, storage: kept });
  await page.load();
  network.isOffline = true;
  await page.send("first");
  await page.send("second");
  expect(page.getSnapshot().status).toBe("failed");
  network.isOffline = false;
  const reloaded = client.conversation({ agentId, key, storage: kept });
  await reloaded.load();
  expect(texts(reloaded.getSnapshot())).toEqual(["first", "You said: first", "second", "You said: second"]);
});

test("messages that an outage has kept are sent once the service is back", async () => {
  const [key, network] = [newKey(), unreliable()];
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: network.fetch, webSocket: null, retries: 0 });
  const chat = client.conversation({ agentId, key, storage: memoryStorage() });
  await chat.load();
  network.isOffline = true;
  await Promise.all([chat.send("first"), chat.send("second")]);
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { name: "ConnectionError" } });
  expect(statuses(chat.getSnapshot())).toEqual(["sending", "sending"]);
  network.isOffline = false;
  await until(chat, ({ status, messages }) => status === "ready" && messages.length === 4);
  expect(texts(chat.getSnapshot())).toEqual(["first", "You said: first", "second", "You said: second"]);
  await expect.poll(() => service.turns(agentId, key)).toEqual(["completed", "completed"]);
  chat.close();
});

test("a token that cannot be fetched once does not disable a conversation", async () => {
  let calls = 0;
  const getToken = () => {
    calls += 1;
    if (calls === 1) throw new TypeError("you are signed out");
    return service.admin;
  };
  const chat = createClient({ url: service.url, getToken, retries: 0 }).conversation({ agentId, key: newKey(), storage: memoryStorage() });
  await chat.load();
  expect(chat.getSnapshot()).toMatchObject({
    status: "failed",
    error: { code: "offline", title: "The service cannot be reached.", message: "No token: you are signed out" },
  });
  await chat.load();
  expect(chat.getSnapshot().status).toBe("ready");
  await chat.send("Hello");
  expect(texts(chat.getSnapshot())).toEqual(["Hello", "You said: Hello"]);
});

test("a page that loads shows all open turns to their end", async () => {
  const key = newKey();
  const page = open(key);
  void page.send("hold");
  await until(page, (state) => texts(state)[1] === "First half, ");
  await createClient({ url: service.url, apiKey: service.admin }).chat({ agentId, conversationKey: key, message: "queued" }).next();
  page.close();
  const loaded = open(key);
  const loading = loaded.load();
  await until(loaded, ({ status }) => status === "streaming");
  service.model.release();
  await loading;
  expect(texts(loaded.getSnapshot())).toEqual(["hold", "First half, second half.", "queued", "You said: queued"]);
});

test("a message that waits for another turn is shown at once, and survives a reload", async () => {
  const [key, kept] = [newKey(), memoryStorage()];
  const page = open(key, kept);
  void page.send("hold");
  await until(page, (state) => texts(state)[1] === "First half, ");
  void page.send("next");
  expect(texts(page.getSnapshot())).toEqual(["hold", "First half, ", "next"]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  page.close();
  const reloaded = open(key, kept);
  const loading = reloaded.load();
  await until(reloaded, (state) => texts(state)[1] === "First half, ");
  expect(texts(reloaded.getSnapshot())).toEqual(["hold", "First half, ", "next"]);
  service.model.release();
  await loading;
  expect(texts(reloaded.getSnapshot())).toEqual(["hold", "First half, second half.", "next", "You said: next"]);
  expect(new Set(statuses(reloaded.getSnapshot()))).toEqual(new Set(["complete"]));
});

test("a later message is sent after one that was written offline", async () => {
  const network = unreliable();
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: network.fetch, retries: 0 });
  const chat = client.conversation({ agentId, key: newKey(), storage: memoryStorage() });
  await chat.load();
  network.isOffline = true;
  await chat.send("A");
  network.isOffline = false;
  await chat.send("B");
  expect(texts(chat.getSnapshot())).toEqual(["A", "You said: A", "B", "You said: B"]);
  expect(chat.getSnapshot().status).toBe("ready");
});

const refuse = (): never => {
  throw new DOMException("refused", "SecurityError");
};

test.each([["getItem"], ["setItem"], ["removeItem"], ["getItem", "setItem", "removeItem"]])(
  "a storage that refuses %s prevents no message",
  async (...methods) => {
    const key = newKey();
    const chat = open(key, { ...memoryStorage(), ...Object.fromEntries(methods.map((method) => [method, refuse])) });
    await chat.load();
    for (const text of ["one", "two"]) await chat.send(text);
    expect(texts(chat.getSnapshot())).toEqual(["one", "You said: one", "two", "You said: two"]);
    await chat.load();
    expect(chat.getSnapshot().status).toBe("ready");
    expect(await service.turns(agentId, key)).toEqual(["completed", "completed"]);
  },
);

test.each([
  "[null]",
  "[1]",
  "[{}]",
  "[[]]",
  '"x"',
  "1",
  "null",
  '{"a":1}',
  "not JSON",
  '[{"message":{}}]',
  '[{"message":{"message":"hi"},"idempotencyKey":"é"}]',
])("what another program has written to the storage is not sent: %s", async (foreign) => {
  const [key, kept] = [newKey(), memoryStorage()];
  kept.getItem = (name) => kept.values.get(name) ?? foreign;
  const chat = open(key, kept);
  await chat.load();
  expect(chat.getSnapshot()).toEqual({ status: "ready", messages: [], hasOlder: false });
  await chat.send("Hello");
  expect(texts(chat.getSnapshot())).toEqual(["Hello", "You said: Hello"]);
  expect(chat.getSnapshot().status).toBe("ready");
});

test("two objects of one conversation keep the messages of both", async () => {
  const [key, kept] = [newKey(), memoryStorage()];
  const [one, other] = [open(key, kept), open(key, kept)];
  await Promise.all([one.load(), other.load()]);
  const first = one.send("hold");
  await until(one, (state) => texts(state)[1] === "First half, ");
  await until(other, (state) => texts(state)[1] === "First half, ");
  const second = other.send("second");
  const keptTexts = () =>
    [...kept.values.values()].flatMap((list) => JSON.parse(list).map(({ message }: { message: { message: string } }) => message.message));
  expect(keptTexts()).toEqual(["hold", "second"]);
  service.model.release();
  await Promise.all([first, second]);
  expect(keptTexts()).toEqual([]);
  expect(texts(other.getSnapshot())).toEqual(["hold", "First half, second half.", "second", "You said: second"]);
  expect(await service.turns(agentId, key)).toEqual(["completed", "completed"]);
  for (const chat of [one, other]) chat.close();
});

test("a message whose outcome the service does not know is sent again", async () => {
  let failures = 0;
  const unavailable: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method !== "POST" || failures > 0) return response;
    failures += 1;
    // It was stored, but the client learns that the store is unavailable.
    await response.body?.cancel();
    const problem = { code: "store_unavailable", status: 503, title: "", detail: "", type: "", retryable: true };
    return new Response(JSON.stringify(problem), { status: 503, headers: { "Content-Type": "application/problem+json" } });
  };
  const key = newKey();
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: unavailable, retries: 0 });
  const chat = client.conversation({ agentId, key, storage: memoryStorage() });
  await chat.send("Hello");
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "store_unavailable" } });
  await chat.load();
  expect(texts(chat.getSnapshot())).toEqual(["Hello", "You said: Hello"]);
  await expect.poll(() => service.turns(agentId, key)).toEqual(["completed"]);
});

test("a regeneration or an edit whose request is lost leaves what it would replace, and is sent again", async () => {
  for (const [index, act] of [
    (chat: Conversation) => chat.regenerate(),
    (chat: Conversation) => chat.edit(chat.getSnapshot().messages[0]!.id, "uno"),
  ].entries()) {
    const [key, network] = [newKey(), unreliable()];
    const client = createClient({ url: service.url, apiKey: service.admin, fetch: network.fetch, retries: 0 });
    const chat = client.conversation({ agentId, key, storage: memoryStorage() });
    await chat.load();
    await chat.send("one");
    network.isOffline = true;
    await act(chat);
    expect(chat.getSnapshot().status).toBe("failed");
    expect(texts(chat.getSnapshot())).toEqual(["one", "You said: one"]);
    expect(statuses(chat.getSnapshot())).toEqual(["complete", "complete"]);
    network.isOffline = false;
    await chat.send("two");
    const first = index === 0 ? "one" : "uno";
    expect(texts(chat.getSnapshot())).toEqual([first, `You said: ${first}`, "two", "You said: two"]);
    await expect.poll(() => service.turns(agentId, key)).toEqual(["completed", "completed", "completed"]);
  }
});

const problem = (status: number, code: string, retryable: boolean): Response =>
  new Response(JSON.stringify({ type: "", title: "", detail: "", status, code, retryable, retryAfter: 1 }), {
    status,
    headers: { "Content-Type": "application/problem+json" },
  });

test.each([
  [401, "invalid_credentials", false],
  [403, "origin_not_allowed", false],
  [429, "rate_limited", true],
  [503, "overloaded", true],
])("a message whose response was lost is kept over refusals, and stored once: %i", async (status, code, retryable) => {
  let messages = 0;
  let isRefused = true;
  const unlucky: typeof fetch = async (input, init) => {
    if (!String(input).endsWith("/api/chat") || !isRefused) return fetch(input, init);
    messages += 1;
    if (messages > 1) return problem(status, code, retryable);
    await (await fetch(input, init)).text();
    throw new TypeError("the connection was lost");
  };
  const [key, kept] = [newKey(), memoryStorage()];
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: unlucky, retries: 1 });
  const chat = client.conversation({ agentId, key, storage: kept });
  await chat.load();
  await chat.send("pay 10");
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code } });
  // The reply can be known by the events of the log, but the message is not shown as failed.
  expect(statuses(chat.getSnapshot())).not.toContain("failed");
  expect(kept.values.size).toBe(1);
  isRefused = false;
  // The events of the log can show the reply before, and it is not generated again.
  if (status === 429) await until(chat, ({ messages: shown }) => shown.length === 2);
  await chat.regenerate();
  await until(chat, (state) => state.status === "ready");
  expect(texts(chat.getSnapshot())).toEqual(["pay 10", "You said: pay 10"]);
  expect(kept.values.size).toBe(0);
  expect(await service.turns(agentId, key)).toEqual(["completed"]);
  chat.close();
});
