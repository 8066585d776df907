// `WebSocketChatTransport` of AI SDK 7 in Node.js against the service: `node sockets.mjs BINARY`.
import assert from "node:assert/strict";
import { WebSocketChatTransport } from "ai-7";
import { WebSocket } from "ws";
import { end, runCases, until } from "../cases.mjs";
import { startService } from "../service.mjs";
import { hasReply, newChat, textOf, texts } from "./chat.mjs";

const service = await startService();
const { model, relay } = service;
const agent = await service.newAgent();
const bearer = (key) => ({ authorization: `Bearer ${key}` });
let chats = 0;

// A chat of a page, which fetches a ticket for each connection.
const open = ({ id = `socket-${(chats += 1)}`, key = service.admin, headers = {}, ...init } = {}) => {
  const transport = new WebSocketChatTransport({
    url: `${relay.url}/ai-sdk/agents/${agent}/ws`,
    headers,
    params: async () => {
      const issued = await fetch(`${relay.url}/api/ws/tickets`, { method: "POST", headers: bearer(key) });
      return { ticket: (await issued.json()).ticket };
    },
    webSocket: WebSocket,
    ...init,
  });
  return { ...newChat("7", { id, transport }), id, transport };
};
const turns = (id) => service.turns(agent, id);
const halves = "First half, second half.";

const cases = {
  async "sends, and sends again on the same connection"() {
    const { chat } = await open();
    await chat.sendMessage({ text: "words 5 5" });
    assert.equal(chat.status, "ready", String(chat.error));
    await chat.sendMessage({ text: "tool" });
    assert.match(textOf(chat.lastMessage), /That is it\.$/);
    await chat.regenerate();
    assert.deepEqual(texts(chat.messages).length, 4);
  },
  async "authenticates by a header"() {
    class WithHeader extends WebSocket {
      constructor(url, protocols) {
        super(url, protocols, { headers: bearer(service.key("chat:write")) });
      }
    }
    const { chat } = open({ params: {}, webSocket: WithHeader });
    await chat.sendMessage({ text: "Hello" });
    assert.equal(textOf(chat.lastMessage), "You said: Hello");
  },
  async "stops the turn"() {
    const { chat, id } = open();
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    await chat.stop();
    await sent;
    assert.equal(chat.status, "ready", String(chat.error));
    await until(async () => (await turns(id))[0] === "cancelled");
    await chat.sendMessage({ text: "next" });
    assert.equal(textOf(chat.lastMessage), "You said: next");
  },
  async "resumes in the middle of a reply, and stops what it resumed"() {
    const { chat, id } = open();
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    const other = open({ id });
    const resumed = other.chat.resumeStream();
    await until(() => hasReply(other.chat));
    model.release();
    await Promise.all([sent, resumed]);
    assert.deepEqual(texts(other.chat.messages), [`assistant: ${halves}`]);
    assert.equal(other.chat.lastMessage.id, chat.lastMessage.id);
    void chat.sendMessage({ text: "hold" });
    await until(async () => (await turns(id)).length === 2);
    const third = open({ id });
    const followed = third.chat.resumeStream();
    await until(() => hasReply(third.chat));
    await third.chat.stop();
    await followed;
    await until(async () => (await turns(id))[1] === "cancelled");
  },
  async "resumes after a cut"() {
    const { chat, id, seen } = open();
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    relay.cut();
    await sent;
    assert.equal(chat.status, "error");
    assert.equal(seen.finishes[0].isDisconnect, true);
    const resumed = chat.resumeStream();
    await until(() => chat.status === "streaming");
    model.release();
    await resumed;
    assert.deepEqual(texts(chat.messages), ["user: hold", `assistant: ${halves}`]);
    assert.deepEqual(await turns(id), ["completed"]);
  },
  async "resumes nothing in a new chat"() {
    const { chat } = open();
    await chat.resumeStream();
    assert.equal(chat.status, "ready", String(chat.error));
    const strange = open({ id: "not a key!" });
    await strange.chat.resumeStream();
    assert.equal(strange.chat.status, "ready");
  },
  async "reports errors of one request, and goes on"() {
    const { chat } = open();
    await chat.sendMessage({ text: "" });
    assert.match(chat.error.message, /\/message: .*\(validation_failed, request /);
    await chat.sendMessage({ text: "fail" });
    assert.match(chat.error.message, /^The reply engine failed\. .*\(engine_failed, request /);
    await chat.sendMessage({ text: "Hello" });
    assert.equal(textOf(chat.lastMessage), "You said: Hello");
  },
  async "answers several chats on one connection"() {
    const first = open();
    const second = newChat("7", { id: "socket-shared", transport: first.transport });
    const sent = [first.chat.sendMessage({ text: "words 20 5" }), second.chat.sendMessage({ text: "words 10 5" })];
    await Promise.all(sent);
    assert.match(textOf(first.chat.lastMessage), /word20 $/);
    assert.match(textOf(second.chat.lastMessage), /word10 $/);
  },
  async "keeps the chats of users apart"() {
    for (const user of ["ada", "bob"]) {
      const { chat } = open({ id: "socket-users", headers: { "X-User-Id": user } });
      await chat.sendMessage({ text: user });
    }
    const stored = async (user) => {
      const path = `/ai-sdk/agents/${agent}/chat/socket-users/messages`;
      return texts((await service.call("GET", path, undefined, { "x-user-id": user })).body);
    };
    assert.deepEqual(await stored("bob"), ["user: bob", "assistant: You said: bob"]);
  },
  async "ends with its key"() {
    const admin = service.key("keys:admin,chat:write,events:read");
    const as = (method, path, body) => service.call(method, path, body, bearer(admin));
    const short = (await as("POST", "/api/keys", { name: "short", scopes: ["chat:write", "events:read"] })).body;
    const { chat, seen } = open({ key: short.secret });
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    assert.equal((await as("DELETE", `/api/keys/${short.id}`)).status, 204);
    await sent;
    assert.equal(chat.status, "error");
    assert.equal(seen.finishes[0].isError, true);
  },
  async "reports a shutdown as an error"() {
    const { chat, seen } = open();
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    service.signal("SIGTERM");
    await sent;
    assert.equal(chat.status, "error");
    assert.match(chat.error.message, /draining/);
    assert.equal(seen.finishes[0].isDisconnect, true);
  },
};
const passed = await runCases(cases, model.release);
await service.stop();
end({ client: "WebSocketChatTransport", node: process.version, ...passed });
