// One conversation in several pages, and of several principals.
import { expect, test } from "vitest";
import { WebSocket as NodeWebSocket } from "ws";
import { type Conversation, createClient, type Typing } from "../src/index.js";
import { merge } from "../src/message.js";
import { agentId, newKey, open, service, statuses, texts, unreliable, until, useService } from "./conversations.js";
import { memoryStorage } from "./memory-storage.js";

useService();

test("a message is never sent for another principal or conversation", async () => {
  const [key, kept, network] = [newKey(), memoryStorage(), unreliable()];
  const other = service.key("chat:write,conversations:read");
  const page = (apiKey: string, key: string, userId?: string) =>
    createClient({ url: service.url, apiKey, fetch: network.fetch, retries: 0 }).conversation({
      agentId,
      key,
      storage: kept,
      ...(userId ? { userId } : {}),
    });
  network.isOffline = true;
  await page(service.admin, key, "x:y").send("secret");
  network.isOffline = false;
  for (const stranger of [page(other, key, "x:y"), page(service.admin, `y:${key}`, "x"), page(service.admin, key)]) {
    await stranger.load();
    expect(stranger.getSnapshot()).toEqual({ messages: [], hasOlder: false, status: "ready" });
  }
  const own = page(service.admin, key, "x:y");
  await own.load();
  expect(texts(own.getSnapshot())).toEqual(["secret", "You said: secret"]);
});

test("a message that is sent after the conversation was closed opens it again", async () => {
  const [key, kept] = [newKey(), memoryStorage()];
  const chat = open(key, kept);
  await chat.send("one");
  chat.close();
  await chat.send("two");
  expect(texts(chat.getSnapshot())).toEqual(["one", "You said: one", "two", "You said: two"]);
  expect(chat.getSnapshot().status).toBe("ready");
  await expect.poll(() => service.turns(agentId, key)).toEqual(["completed", "completed"]);
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

test("a reply that has ended while the messages were read stays shown", () => {
  const [sent, reply] = [
    { id: "1", role: "user", text: "Hello", status: "complete", toolCalls: [], files: [], createdAt: "", turnId: "t" },
    { id: "2", role: "agent", text: "Hi", status: "complete", toolCalls: [], files: [], createdAt: "", turnId: "t" },
  ] as const;
  expect(merge([sent], [sent, reply])).toEqual([sent, reply]);
  // Another turn has replaced it.
  expect(merge([{ ...sent, turnId: "other" }], [sent, reply])).toEqual([{ ...sent, turnId: "other" }]);
});

test("messages of staff appear live, and turns have no reply while staff handles the conversation", async () => {
  const key = newKey();
  const staff = createClient({ url: service.url, apiKey: service.admin });
  const [chat, other] = [open(key), open(key)];
  await Promise.all([chat.load(), other.load()]);
  await chat.send("one");
  const { data } = await staff.conversations.list({ agentId, key });
  const id = data[0]!.id;
  await staff.conversations.patch(id, { handledBy: "staff" });
  const { id: messageId } = await staff.conversations.writeMessage(id, { content: "May I help?", author: { name: "Grace" } });
  for (const page of [chat, other]) await until(page, (state) => texts(state).at(-1) === "May I help?");
  expect(other.getSnapshot().messages.at(-1)).toMatchObject({
    role: "agent",
    status: "complete",
    author: { name: "Grace", kind: "staff" },
  });
  await chat.send("two");
  const expected = ["one", "You said: one", "May I help?", "two"];
  for (const page of [chat, other]) {
    await until(page, (state) => state.status === "ready" && texts(state).at(-1) === "two");
    expect(texts(page.getSnapshot())).toEqual(expected);
  }
  await staff.conversations.patchMessage(id, messageId, { content: "Can I help?" });
  await until(other, (state) => texts(state)[2] === "Can I help?");
  await staff.conversations.deleteMessage(id, messageId);
  await until(other, (state) => texts(state).join() === "one,You said: one,two");
  await staff.conversations.patch(id, { handledBy: "agent" });
  await chat.send("three");
  // The model has not answered the message before.
  expect(texts(chat.getSnapshot()).at(-1)).toBe("You said: two\n\nthree");
  chat.close();
  other.close();
});

test("those who see a conversation see who types in it, until it stops, or reports nothing for a while", async () => {
  const key = newKey();
  const userId = "typist";
  const scopes = ["chat:write", "conversations:read", "events:read"] as const;
  const webSocket = NodeWebSocket as unknown as typeof WebSocket;
  const staff = createClient({ url: service.url, apiKey: service.admin, webSocket });
  const issuer = createClient({ url: service.url, apiKey: service.key(["user-tokens:issue", ...scopes].join()) });
  const { token } = await issuer.userTokens.create({ userId, scopes: [...scopes] });
  const visitor = createClient({ url: service.url, getToken: () => token, webSocket }).conversation({
    agentId,
    key,
    storage: memoryStorage(),
  });
  await visitor.load();
  // Before its first message, there is no conversation that others could see.
  visitor.setTyping(true);
  await visitor.send("one");
  const { id } = (await staff.conversations.list({ agentId, key, userId })).data[0]!;
  const desk = staff.conversation({ id });
  await desk.load();
  const updates: Typing[] = [];
  const closing = new AbortController();
  const events = staff.events({ channels: [`conversation:${id}`], signal: closing.signal, onTyping: (update) => updates.push(update) });
  const ended = events.next().catch(() => {});
  const typing = (page: Conversation) => page.getSnapshot().typing;
  // A socket may still be opened, and nothing is repeated within a few seconds.
  const typeUntil = async (page: Conversation, isSeen: () => boolean) => {
    for (; !isSeen(); await new Promise((resolve) => setTimeout(resolve, 50))) {
      page.setTyping(false);
      page.setTyping(true);
    }
  };
  await typeUntil(visitor, () => typing(desk) === `user:${userId}` && updates.length > 0);
  expect(updates.at(-1)).toMatchObject({ conversationId: id, actor: `user:${userId}` });
  expect(typing(visitor)).toBeUndefined();
  visitor.setTyping(false);
  await until(desk, ({ typing }) => typing === undefined);
  // Users see no ids of staff.
  await typeUntil(desk, () => typing(visitor) === "staff");
  await until(visitor, ({ typing }) => typing === undefined);
  // What is sent is typed no longer.
  await typeUntil(visitor, () => typing(desk) !== undefined);
  await staff.conversations.patch(id, { handledBy: "staff" });
  await visitor.send("two");
  await until(desk, (state) => state.typing === undefined && texts(state).at(-1) === "two");
  closing.abort();
  await ended;
  visitor.close();
  desk.close();
});

test("a rating appears in other pages, and can be changed and deleted", async () => {
  const key = newKey();
  const [chat, other] = [open(key), open(key)];
  await Promise.all([chat.load(), other.load()]);
  await chat.send("one");
  await until(other, (state) => state.status === "ready" && texts(state).length === 2);
  const { id } = chat.getSnapshot().messages[1]!;
  const ratings = (page: typeof chat) => page.getSnapshot().messages[1]?.feedback?.map(({ rating, comment }) => [rating, comment]);
  for (const [rating, comment, expected] of [
    ["down", "Too short", [["down", "Too short"]]],
    ["up", undefined, [["up", null]]],
    [null, undefined, undefined],
  ] as const) {
    await chat.rate(id, rating, comment);
    expect(ratings(chat)).toEqual(expected);
    await expect.poll(() => ratings(other)).toEqual(expected);
  }
  const own = chat.getSnapshot().messages[0]!.id;
  await expect(chat.rate(own, "up")).rejects.toMatchObject({ code: "message_not_found" });
  expect(chat.getSnapshot().status).toBe("ready");
  chat.close();
  other.close();
});
