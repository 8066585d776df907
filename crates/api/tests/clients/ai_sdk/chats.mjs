// The AI SDK in Node.js against the service: `node chats.mjs BINARY [6|7]`.
import assert from "node:assert/strict";
import { end, runCases, until } from "../cases.mjs";
import { photo } from "../photo.mjs";
import { startService } from "../service.mjs";
import { assertEqualMessages, hasReply, newChat, sdk, textOf, texts } from "./chat.mjs";

const [, major = "7"] = process.argv.slice(2);
const service = await startService();
const { model, relay } = service;
const agent = await service.newAgent();
let chats = 0;

// A chat as a page has it: what it received, and the requests that a page adds.
const open = ({ id = `chat-${(chats += 1)}-${major}`, key = service.admin, headers = {}, messages } = {}) => {
  const api = `${relay.url}/ai-sdk/agents/${agent}/chat`;
  const all = { authorization: `Bearer ${key}`, ...headers };
  const transport = new sdk[major].DefaultChatTransport({ api, headers: all });
  const { chat, seen } = newChat(major, { id, messages, transport });
  const stop = async () => {
    const response = await fetch(`${api}/${id}/stop`, { method: "POST", headers: all });
    assert.equal(response.status, 204);
  };
  const stored = async () => {
    const response = await fetch(`${api}/${id}/messages`, { headers: all });
    assert.equal(response.status, 200);
    return response.json();
  };
  return { chat, seen, stop, stored, id, api, headers: all };
};

const turns = async (id) => (await service.stored(agent, id)).turns;
const cases = {
  async "sends, streams and hydrates"() {
    const { chat, seen, stored, id } = open();
    await chat.sendMessage({ text: "words 5" });
    assert.equal(chat.status, "ready", String(chat.error));
    assert.deepEqual(texts(chat.messages), ["user: words 5", "assistant: word1 word2 word3 word4 word5 "]);
    await chat.sendMessage({ text: "Hello" });
    assert.equal(textOf(chat.lastMessage), "You said: Hello");
    assert.equal(chat.lastMessage.metadata.engine, "llm");
    assert.equal(seen.finishes[1].finishReason, "stop");
    assertEqualMessages(await stored(), chat.messages);
    assert.equal((await turns(id)).length, 2);
    const history = model.requests.at(-1).filter((message) => message.role !== "system");
    assert.deepEqual(history.map((message) => message.content), ["words 5", "word1 word2 word3 word4 word5 ", "Hello"]);
  },
  async "sends a photo"() {
    const { chat, id } = open();
    const { mediaType, url, name: filename } = photo;
    await chat.sendMessage({ text: "look", files: [{ type: "file", mediaType, url, filename }] });
    assert.equal(chat.status, "ready", String(chat.error));
    assert.equal(textOf(chat.lastMessage), `I see ${mediaType} of ${photo.bytes} bytes`);
    const { messages } = await service.stored(agent, id);
    const [{ id: _, ...file }] = messages[0].files;
    assert.deepEqual(file, { name: filename, mediaType, bytes: photo.bytes });
    // The whole history is sent again.
    await chat.sendMessage({ text: "Hello" });
    assert.equal(textOf(chat.lastMessage), "You said: Hello");
    await chat.sendMessage({ text: "look", files: [{ type: "file", mediaType, url: "data:image/png;base64,PGI+" }] });
    assert.match(String(chat.error), /\/messages\/4\/parts\/0/);
  },
  async "shows tools where they happened"() {
    const { chat, stored } = open();
    await chat.sendMessage({ text: "tool" });
    const kinds = chat.lastMessage.parts.map((part) => part.type);
    assert.deepEqual(kinds, ["step-start", "text", "tool-calculator", "text"]);
    const tool = chat.lastMessage.parts[2];
    assert.deepEqual([tool.state, tool.input], ["output-available", { expression: "17 * 24" }]);
    assert.equal(tool.providerExecuted, true);
    assert.match(JSON.stringify(tool.output), /408/);
    assertEqualMessages(await stored(), chat.messages);
    await chat.sendMessage({ text: "bad tool" });
    const bad = chat.lastMessage.parts[2];
    assert.equal(bad.state, "output-error");
    assert.ok(bad.errorText.length > 3, bad.errorText);
    assertEqualMessages(await stored(), chat.messages);
  },
  async "stops the turn"() {
    const { chat, stop, id, stored } = open();
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    await stop();
    await sent;
    assert.equal(chat.status, "ready", String(chat.error));
    assert.equal(textOf(chat.lastMessage), "First half, ");
    assert.deepEqual((await turns(id)).map((turn) => turn.status), ["cancelled"]);
    const kept = await stored();
    assertEqualMessages(kept, chat.messages);
    const reloaded = open({ id, messages: kept });
    await reloaded.chat.resumeStream();
    for (const messages of [kept, chat.messages, reloaded.chat.messages]) {
      assert.equal(messages[1].metadata.finishReason, "cancelled");
    }
    const again = chat.regenerate();
    await until(() => chat.status === "streaming");
    model.release();
    await again;
    assert.deepEqual(texts(chat.messages), ["user: hold", "assistant: First half, second half."]);
  },
  async "regenerates and edits"() {
    const { chat, id, stored } = open();
    await chat.sendMessage({ text: "one" });
    await chat.sendMessage({ text: "two" });
    const first = chat.messages.map((message) => message.id);
    await chat.regenerate();
    assert.deepEqual(texts(chat.messages), ["user: one", "assistant: You said: one", "user: two", "assistant: You said: two"]);
    assert.notEqual(chat.lastMessage.id, first[3]);
    await chat.regenerate({ messageId: first[1] });
    assert.deepEqual(texts(chat.messages), ["user: one", "assistant: You said: one"]);
    assertEqualMessages(await stored(), chat.messages);
    await chat.sendMessage({ text: "three" });
    for (const text of ["four", "three", "four"]) {
      const edited = chat.messages.at(-2).id;
      await chat.sendMessage({ text, messageId: edited });
      assert.equal(chat.status, "ready", String(chat.error));
      assert.deepEqual(texts(chat.messages).slice(-2), [`user: ${text}`, `assistant: You said: ${text}`]);
      assert.equal(chat.messages.at(-2).id, edited);
      assertEqualMessages(await stored(), chat.messages);
    }
    assert.equal((await turns(id)).length, 8);
  },
  async "edits hydrated messages of other clients"() {
    const key = `plain-${major}`;
    const made = await service.call("POST", "/api/chat", { agentId: agent, conversationKey: key, message: "plain" });
    assert.equal(made.status, 200);
    const { stored } = open({ id: key });
    const { chat } = open({ id: key, messages: await stored() });
    await chat.sendMessage({ text: "edited", messageId: chat.messages[0].id });
    assert.deepEqual(texts(chat.messages), ["user: edited", "assistant: You said: edited"]);
    await chat.sendMessage({ text: "again", messageId: chat.messages[0].id });
    assert.deepEqual(texts(chat.messages), ["user: again", "assistant: You said: again"]);
    assertEqualMessages(await stored(), chat.messages);
  },
  async "resumes in another page in the middle of a reply"() {
    const { chat, id, stored } = open();
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    const reloaded = open({ id, messages: await stored() });
    assert.deepEqual(texts(reloaded.chat.messages), ["user: hold"]);
    const resumed = reloaded.chat.resumeStream();
    await until(() => textOf(reloaded.chat.lastMessage).startsWith("First"));
    model.release();
    await Promise.all([sent, resumed]);
    for (const { chat: page } of [{ chat }, reloaded]) {
      assert.equal(page.status, "ready");
      assert.deepEqual(texts(page.messages), ["user: hold", "assistant: First half, second half."]);
    }
    assert.equal(reloaded.chat.lastMessage.id, chat.lastMessage.id);
    const later = open({ id, messages: await stored() });
    await later.chat.resumeStream();
    assertEqualMessages(later.chat.messages, chat.messages);
    assert.equal((await turns(id)).length, 1);
  },
  async "resumes nothing in a new or old chat"() {
    const { chat, stored, stop } = open();
    await chat.resumeStream();
    assert.equal(chat.status, "ready", String(chat.error));
    assert.deepEqual(await stored(), []);
    await stop();
    const strange = open({ id: "not a key!" });
    await strange.chat.resumeStream();
    assert.equal(strange.chat.status, "ready");
  },
  async "resumes after a cut"() {
    const { chat, id, seen } = open();
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    relay.cut();
    await sent;
    assert.equal(chat.status, "error");
    assert.equal(seen.finishes[0].isError, true);
    model.release();
    await chat.resumeStream();
    assert.equal(chat.status, "ready", String(chat.error));
    assert.deepEqual(texts(chat.messages), ["user: hold", "assistant: First half, second half."]);
    assert.equal((await turns(id)).length, 1);
  },
  async "retries a send that was cut, and starts no second turn"() {
    const { chat, id } = open();
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    relay.cut();
    await sent;
    const retried = chat.regenerate();
    await until(() => chat.status === "streaming");
    model.release();
    await retried;
    assert.deepEqual(texts(chat.messages), ["user: hold", "assistant: First half, second half."]);
    assert.equal((await turns(id)).length, 1);
  },
  async "sends a message that never arrived"() {
    const { chat, id } = open();
    await chat.sendMessage({ text: "one" });
    relay.refuse();
    await chat.sendMessage({ text: "two" });
    relay.accept();
    assert.equal(chat.status, "error");
    await chat.regenerate();
    assert.deepEqual(texts(chat.messages), ["user: one", "assistant: You said: one", "user: two", "assistant: You said: two"]);
    assert.equal((await turns(id)).length, 2);
  },
  async "sends the same request twice and starts one turn"() {
    const { api, headers, id } = open();
    const message = { id: "m-1", role: "user", parts: [{ type: "text", text: "once" }] };
    const body = JSON.stringify({ id, messages: [message], trigger: "submit-message" });
    const send = () => fetch(api, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body });
    const [one, other] = await Promise.all([send(), send()].map(async (sent) => (await sent).text()));
    assert.equal(one, other);
    assert.equal((await turns(id)).length, 1);
  },
  async "reports a failed turn, and answers it again"() {
    const { chat, id, seen } = open();
    await chat.sendMessage({ text: "fail" });
    assert.equal(chat.status, "error");
    assert.match(chat.error.message, /^The reply engine failed\. .*\(engine_failed.*\)$/);
    assert.equal(seen.finishes[0].isError, true);
    await chat.regenerate();
    assert.equal(chat.status, "error");
    await chat.sendMessage({ text: "works", messageId: chat.messages[0].id });
    assert.deepEqual(texts(chat.messages), ["user: works", "assistant: You said: works"]);
    assert.deepEqual((await turns(id)).map((turn) => turn.status), ["failed", "failed", "completed"]);
  },
  async "waits for its turn"() {
    const { chat, id } = open();
    const first = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    const other = open({ id });
    const second = other.chat.sendMessage({ text: "next" });
    await until(() => other.seen.data.some((part) => part.type === "data-queued"));
    model.release();
    await Promise.all([first, second]);
    assert.equal(textOf(other.chat.lastMessage), "You said: next");
    assert.equal(other.chat.lastMessage.parts.some((part) => part.type === "data-queued"), false);
  },
  async "keeps the chats of users apart"() {
    const [ada, bob] = ["ada", "bob"].map((user) => open({ id: `shared-${major}`, headers: { "x-user-id": user } }));
    await ada.chat.sendMessage({ text: "mine" });
    await bob.chat.sendMessage({ text: "his" });
    assert.deepEqual(texts(await ada.stored()), ["user: mine", "assistant: You said: mine"]);
    assert.deepEqual(texts(await bob.stored()), ["user: his", "assistant: You said: his"]);
  },
  async "lets a key with chat:write follow its own turns only"() {
    const key = service.key("chat:write");
    const own = open({ key });
    await own.chat.sendMessage({ text: "own" });
    await open({ key, id: own.id }).chat.resumeStream();
    const again = open({ key, id: own.id });
    await again.chat.resumeStream();
    assert.equal(textOf(again.chat.lastMessage), "You said: own");
    const other = open();
    await other.chat.sendMessage({ text: "foreign" });
    const foreign = open({ key, id: other.id });
    await foreign.chat.resumeStream();
    assert.deepEqual(foreign.chat.messages, []);
    const listed = await fetch(`${own.api}/${own.id}/messages`, { headers: own.headers });
    assert.equal(listed.status, 403);
    assert.match(await listed.text(), /conversations:read.*insufficient_scope, request /);
  },
  async "shows errors as one readable line"() {
    const refused = async (options, message) => {
      const { chat } = open(options);
      await chat.sendMessage(message);
      assert.equal(chat.status, "error");
      return chat.error.message;
    };
    assert.match(await refused({ key: "agk_wrong" }, { text: "x" }), /^The credential is not valid\. .*\(invalid_credentials, request /);
    assert.match(await refused({}, { text: "" }), /\/message: .*\(validation_failed, request /);
    const file = { type: "file", mediaType: "text/plain", url: "data:text/plain,x" };
    assert.match(await refused({}, { text: "x", files: [file] }), /must be a data URL with base64/);
    assert.match(await refused({ id: "a b" }, { text: "x" }), /\/id: must be 1 to 128 characters/);
  },
  async "cuts a stream whose key is revoked"() {
    const made = await service.call("POST", "/api/conversations", { agentId: agent });
    assert.equal(made.status, 201);
    const admin = service.key("keys:admin,chat:write,conversations:read");
    const as = (method, path, body) => service.call(method, path, body, { authorization: `Bearer ${admin}` });
    const short = (await as("POST", "/api/keys", { name: "short", scopes: ["chat:write"] })).body;
    const { chat, seen } = open({ key: short.secret });
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    assert.equal((await as("DELETE", `/api/keys/${short.id}`)).status, 204);
    await sent;
    assert.equal(chat.status, "error");
    assert.equal(seen.finishes[0].isError, true);
    model.release();
  },
  async "reports a reply that a shutdown interrupts as an error"() {
    const { chat, seen } = open();
    const sent = chat.sendMessage({ text: "hold" });
    await until(() => hasReply(chat));
    service.signal("SIGTERM");
    await until(() => service.log.some((line) => line.includes("shutdown") || line.includes("signal")));
    service.signal("SIGINT");
    await sent;
    assert.equal(chat.status, "error");
    assert.equal(seen.finishes[0].isError, true);
  },
};
const passed = await runCases(cases, model.release);
await service.stop();
end({ client: `ai ${major}`, node: process.version, ...passed });
