import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "./service.js";
import { type Conversation, type ConversationState, createClient, type KeyValueStorage } from "../src/index.js";
import { memoryStorage } from "../src/store.js";

let service: Service;
let agentId: string;
let number = 0;

beforeAll(async () => {
  service = await startService();
  agentId = await service.newAgent();
});
afterAll(() => service.stop());

const newKey = (): string => `c${number++}`;

/** Opens the page of a conversation; again for a reload. */
const open = (key: string, kept: KeyValueStorage = memoryStorage(), url = service.url): Conversation =>
  createClient({ url, apiKey: service.admin }).conversation({ agentId, key, storage: kept });

const texts = ({ messages }: ConversationState): string[] => messages.map(({ text }) => text);
const statuses = ({ messages }: ConversationState): string[] => messages.map(({ status }) => status);

/** The client's calls are lost while `isOffline`. */
const unreliable = () => {
  const network = { isOffline: false, fetch: (async (input, init) => {
    if (network.isOffline) throw new TypeError("offline");
    return fetch(input, init);
  }) as typeof fetch };
  return network;
};

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
    expect(await service.turns(agentId, key)).toEqual(["completed"]);
  }
});

test("cuts of the connection leave no gap", async () => {
  for (let position = 1; position <= 12; position += 1) {
    const key = newKey();
    const chat = open(key, memoryStorage(), service.relay.url);
    service.relay.cutAfter(position);
    await chat.send("words 10 1");
    expect(statuses(chat.getSnapshot())).toEqual(["complete", "complete"]);
    expect(texts(chat.getSnapshot())[1]).toBe(Array.from({ length: 10 }, (_, index) => `word${index + 1} `).join(""));
    expect(await service.turns(agentId, key)).toEqual(["completed"]);
  }
  service.relay.cutAfter(Infinity);
});

test("a reply that a crash of the service has interrupted is generated again, or is shown as interrupted", async () => {
  const key = newKey();
  const chat = createClient({ url: service.url, apiKey: service.admin, retries: 20 }).conversation({ agentId, key });
  const sent = chat.send("words 12 20");
  await until(chat, (state) => (texts(state)[1]?.length ?? 0) > 10);
  await service.restart();
  await sent;
  // With Postgres, another process could still be at work, so the turn fails once that is excluded.
  if (process.env.STORE === "postgres") {
    expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "interrupted" } });
    expect(statuses(chat.getSnapshot())).toEqual(["failed", "failed"]);
    await chat.regenerate();
  }
  expect(chat.getSnapshot().status).toBe("ready");
  expect(statuses(chat.getSnapshot())).toEqual(["complete", "complete"]);
  expect(texts(chat.getSnapshot())[1]).toBe(Array.from({ length: 12 }, (_, index) => `word${index + 1} `).join(""));
  const { messages, turns } = await service.stored(agentId, key);
  expect(messages).toHaveLength(2);
  expect(turns.map(({ status }: { status: string }) => status)).toEqual(["failed", "completed"]);
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

test("a message is never sent for another principal or conversation", async () => {
  const [key, kept, network] = [newKey(), memoryStorage(), unreliable()];
  const other = service.key("chat:write,conversations:read");
  const page = (apiKey: string, key: string, userId?: string) =>
    createClient({ url: service.url, apiKey, fetch: network.fetch, retries: 0 })
      .conversation({ agentId, key, storage: kept, ...(userId ? { userId } : {}) });
  network.isOffline = true;
  await page(service.admin, key, "x:y").send("secret");
  network.isOffline = false;
  for (const stranger of [page(other, key, "x:y"), page(service.admin, `y:${key}`, "x"), page(service.admin, key)]) {
    await stranger.load();
    expect(stranger.getSnapshot()).toEqual({ messages: [], status: "ready" });
  }
  const own = page(service.admin, key, "x:y");
  await own.load();
  expect(texts(own.getSnapshot())).toEqual(["secret", "You said: secret"]);
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

test("a token that cannot be fetched once does not disable a conversation", async () => {
  let calls = 0;
  const getToken = () => {
    calls += 1;
    if (calls === 1) throw new TypeError("the network is down");
    return service.admin;
  };
  const chat = createClient({ url: service.url, getToken }).conversation({ agentId, key: newKey(), storage: memoryStorage() });
  await chat.load();
  expect(chat.getSnapshot().status).toBe("failed");
  await chat.load();
  expect(chat.getSnapshot().status).toBe("ready");
  await chat.send("Hello");
  expect(texts(chat.getSnapshot())).toEqual(["Hello", "You said: Hello"]);
});

test("stop before the turn has started cancels it", async () => {
  const key = newKey();
  const chat = open(key);
  await chat.load();
  const sent = chat.send("hold");
  await until(chat, ({ status }) => status === "sending");
  await chat.stop();
  await sent;
  expect(await service.turns(agentId, key)).toEqual(["cancelled"]);
  expect(chat.getSnapshot().status).toBe("ready");
});

test("a message that has failed is answered again, with a reload in between or not", async () => {
  const key = newKey();
  const chat = open(key);
  await chat.send("before");
  await chat.send("fail 2");
  for (const page of [chat, open(key)]) {
    await page.load();
    await page.regenerate();
    expect(page.getSnapshot().status).toBe("failed");
    expect(texts(page.getSnapshot()).slice(0, 3)).toEqual(["before", "You said: before", "fail 2"]);
  }
});

test("a page that loads shows all open turns to their end", async () => {
  const key = newKey();
  const page = open(key);
  void page.send("hold");
  await until(page, (state) => texts(state)[1] === "First half, ");
  await createClient({ url: service.url, apiKey: service.admin })
    .chat({ agentId, conversationKey: key, message: "queued" })
    .next();
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

test("a full storage does not prevent a message", async () => {
  const full = { ...memoryStorage(), setItem: () => { throw new DOMException("full", "QuotaExceededError"); } };
  const chat = open(newKey(), full);
  await chat.send("Hello");
  expect(texts(chat.getSnapshot())).toEqual(["Hello", "You said: Hello"]);
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
  expect(await service.turns(agentId, key)).toEqual(["completed"]);
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
    expect(await service.turns(agentId, key)).toEqual(["completed", "completed", "completed"]);
  }
});

test("a message that is sent after the conversation was closed opens it again", async () => {
  const [key, kept] = [newKey(), memoryStorage()];
  const chat = open(key, kept);
  await chat.send("one");
  chat.close();
  await chat.send("two");
  expect(texts(chat.getSnapshot())).toEqual(["one", "You said: one", "two", "You said: two"]);
  expect(chat.getSnapshot().status).toBe("ready");
  expect(await service.turns(agentId, key)).toEqual(["completed", "completed"]);
  // It shows the changes of other pages again, too.
  await open(key).send("three");
  await until(chat, (state) => texts(state).at(-1) === "You said: three");
  chat.close();
});

test("changes by other pages are shown: messages, edits, failures and deletion", async () => {
  const key = newKey();
  const [chat, other] = [open(key), open(key)];
  await Promise.all([chat.load(), other.load()]);
  await other.send("one");
  await until(chat, (state) => state.status === "ready" && texts(state).at(-1) === "You said: one");
  expect(chat.getSnapshot().messages).toEqual(other.getSnapshot().messages);
  await chat.edit(chat.getSnapshot().messages[0]!.id, "uno");
  await until(other, (state) => state.status === "ready" && texts(state).join() === "uno,You said: uno");
  await other.send("fail 2");
  await until(chat, ({ status }) => status === "failed");
  expect(chat.getSnapshot()).toMatchObject({ error: { code: "engine_failed" } });
  expect(statuses(chat.getSnapshot()).at(-1)).toBe("failed");
  const { data } = await createClient({ url: service.url, apiKey: service.admin }).conversations.list({ agentId, key });
  await createClient({ url: service.url, apiKey: service.admin }).conversations.delete(data[0]!.id);
  for (const page of [chat, other]) await until(page, ({ messages }) => messages.length === 0);
  chat.close();
  other.close();
});

test("a reply that another page has started can be stopped", async () => {
  const key = newKey();
  const [chat, other] = [open(key), open(key)];
  await Promise.all([chat.load(), other.load()]);
  const sent = other.send("hold");
  await until(chat, (state) => texts(state).at(-1) === "First half, ");
  expect(chat.getSnapshot().status).toBe("streaming");
  await chat.stop();
  await sent;
  for (const page of [chat, other]) await until(page, (state) => statuses(state).join() === "cancelled,cancelled");
  chat.close();
  other.close();
});
