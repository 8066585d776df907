// Approvals and tools of the page with the AI SDK, as its examples have them:
// `node actions.mjs BINARY [6|7]`.
import assert from "node:assert/strict";
import { end, runCases, until } from "../cases.mjs";
import { startService } from "../service.mjs";
import { assertEqualMessages, newChat, sdk, textOf, texts } from "./chat.mjs";

const [, major = "7"] = process.argv.slice(2);
const service = await startService();
const { model } = service;
const { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } = sdk[major];
const openCart = { name: "open_cart", run: "client", description: "Opens the cart.", parameters: { type: "object" } };
const agent = await service.newAgent({ tools: [{ name: "calculator", visibility: "full", approval: "always" }, openCart] });
const CALCULATE = ["calculator", { expression: "17 * 24" }];
const OPEN = ["open_cart", { tab: 2 }];
const calls = (...list) => ({ text: `calls ${JSON.stringify(list)}` });
let chats = 0;

// A page that runs the tool `open_cart`, unless it is held back.
const open = ({ id = `actions-${(chats += 1)}-${major}`, messages, runs = true, slice = false, ...more } = {}) => {
  const api = `${service.url}/ai-sdk/agents/${agent}/chat`;
  const prepareSendMessagesRequest = ({ id, messages, trigger, messageId }) => ({
    body: { id, messages: messages.slice(-1), trigger, messageId },
  });
  const transport = new DefaultChatTransport({ api, headers: service.headers, ...(slice && { prepareSendMessagesRequest }) });
  const opened = [];
  const { chat, seen } = newChat(major, {
    id,
    messages,
    transport,
    sendAutomaticallyWhen: (state) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(state) || lastAssistantMessageIsCompleteWithToolCalls(state),
    onToolCall({ toolCall }) {
      if (toolCall.dynamic || toolCall.toolName !== "open_cart") return;
      opened.push(toolCall.input);
      if (runs) chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: { opened: toolCall.input.tab } });
    },
    ...more,
  });
  const stored = async () => (await fetch(`${api}/${id}/messages`, { headers: service.headers })).json();
  return { chat, seen, stored, opened, id };
};

const turns = async (id) => (await service.stored(agent, id)).turns;
const statuses = async (id) => (await turns(id)).map((turn) => turn.status);
const tools = (chat, messages = chat.messages) => messages.at(-1).parts.filter((part) => part.type.startsWith("tool-"));
const states = (chat, messages) => tools(chat, messages).map((part) => `${part.type} ${part.state}`);
const isReady = (chat) => chat.status === "ready" && textOf(chat.lastMessage).includes("Then: ");
const isAsking = (chat) => chat.status === "ready" && states(chat).some((state) => state.endsWith("approval-requested"));
const approve = (chat, approved = true, reason) => chat.addToolApprovalResponse({ id: tools(chat)[0].approval.id, approved, reason });

// The whole reply is one message, and every page has the same.
const assertWhole = async ({ chat, stored, id }, expected) => {
  assert.equal(chat.error, undefined);
  assert.equal(chat.messages.length, 2);
  assert.match(textOf(chat.lastMessage), expected);
  assert.equal(textOf(chat.lastMessage).match(/Let me see/g).length, 1);
  const kept = await stored();
  assert.deepEqual(texts(kept), texts(chat.messages));
  assert.equal(kept[1].id, chat.lastMessage.id);
  assert.deepEqual(states(chat, kept), states(chat));
  const { chat: later } = open({ id, messages: kept });
  await later.resumeStream();
  assert.deepEqual(states(later), states(chat));
  assert.equal(textOf(later.lastMessage), textOf(chat.lastMessage));
  assert.equal(later.lastMessage.id, chat.lastMessage.id);
};

const cases = {
  async "asks for approval, and goes on in the same message"() {
    const page = open();
    const { chat, id } = page;
    await chat.sendMessage(calls(CALCULATE));
    assert.equal(chat.status, "ready", String(chat.error));
    assert.deepEqual(states(chat), ["tool-calculator approval-requested"]);
    assert.deepEqual(tools(chat)[0].input, { expression: "17 * 24" });
    assert.equal(page.seen.finishes[0].finishReason, "tool-calls");
    assert.deepEqual(await statuses(id), ["requires_action"]);
    await approve(chat);
    await until(() => isReady(chat));
    assert.deepEqual(states(chat), ["tool-calculator output-available"]);
    assert.equal(tools(chat)[0].output, "408");
    assert.deepEqual(await statuses(id), ["completed"]);
    await assertWhole(page, /Then: .*408/);
  },
  async "tells the model that a call was denied"() {
    const page = open({ slice: true });
    const { chat } = page;
    await chat.sendMessage(calls(CALCULATE));
    await approve(chat, false, "too large");
    await until(() => isReady(chat));
    assert.deepEqual(states(chat), ["tool-calculator output-denied"]);
    assert.match(model.requests.at(-1).at(-1).content, /denied.*too large/);
    await assertWhole(page, /denied/);
    const kept = await page.stored();
    assert.equal(tools(chat, kept)[0].approval.approved, false);
  },
  async "runs tools of the page"() {
    const page = open();
    const { chat, id, opened } = page;
    await chat.sendMessage(calls(OPEN));
    await until(() => isReady(chat));
    assert.deepEqual(opened, [{ tab: 2 }]);
    assert.deepEqual(tools(chat)[0].output, { opened: 2 });
    assert.match(model.requests.at(-1).at(-1).content, /opened/);
    await assertWhole(page, /Then: .*opened/);
    assert.deepEqual(opened, [{ tab: 2 }]);
    assert.deepEqual(await statuses(id), ["completed"]);
  },
  async "reports that a tool of the page failed"() {
    const page = open({ runs: false });
    const { chat } = page;
    await chat.sendMessage(calls(OPEN));
    const { toolCallId } = tools(chat)[0];
    await chat.addToolOutput({ tool: "open_cart", toolCallId, state: "output-error", errorText: "no cart" });
    await until(() => isReady(chat));
    await assertWhole(page, /Then: .*no cart/);
  },
  async "asks again after a reload, by the messages and by the stream"() {
    for (const resumes of [false, true]) {
      const { chat, id } = open({ runs: false });
      await chat.sendMessage(calls(CALCULATE, OPEN));
      assert.deepEqual(states(chat), ["tool-calculator approval-requested", "tool-open_cart input-available"]);
      const kept = await open({ id }).stored();
      assertEqualMessages(kept, chat.messages);
      const page = open({ id, messages: kept, runs: resumes });
      if (resumes) await page.chat.resumeStream();
      assert.deepEqual(page.opened, resumes ? [{ tab: 2 }] : []);
      if (!resumes) {
        await page.chat.addToolOutput({ tool: "open_cart", toolCallId: tools(page.chat)[1].toolCallId, output: "open" });
      }
      await until(() => isAsking(page.chat));
      await approve(page.chat);
      await until(() => isReady(page.chat));
      await assertWhole(page, /Then: .*408.*open/);
      assert.deepEqual(await statuses(id), ["completed"]);
    }
  },
  async "takes the answer after a restart of the service"() {
    const page = open();
    await page.chat.sendMessage(calls(CALCULATE));
    await service.restart();
    await approve(page.chat);
    await until(() => isReady(page.chat));
    await assertWhole(page, /Then: .*408/);
  },
  async "takes an answer once, and streams its continuation again"() {
    const page = open();
    const { chat, id } = page;
    await chat.sendMessage(calls(CALCULATE));
    const other = open({ id, messages: structuredClone(chat.messages) });
    await approve(chat);
    await until(() => isReady(chat));
    await approve(other.chat);
    await until(() => isReady(other.chat));
    assert.equal(textOf(other.chat.lastMessage), textOf(chat.lastMessage));
    await assertWhole(page, /Then: .*408/);
    assert.deepEqual(await statuses(id), ["completed"]);
  },
  async "does without an answer if the user writes on"() {
    const { chat, id, stored } = open();
    await chat.sendMessage(calls(CALCULATE));
    await chat.sendMessage({ text: "Never mind" });
    assert.equal(textOf(chat.lastMessage), "You said: Never mind");
    const kept = await stored();
    assert.deepEqual(states(chat, kept.slice(0, 2)), ["tool-calculator output-error"]);
    assert.deepEqual((await turns(id)).map((turn) => turn.finishReason), ["dismissed", "stop"]);
  },
  async "takes an answer that a newer message follows"() {
    const { chat, id, stored } = open({ sendAutomaticallyWhen: () => false });
    await chat.sendMessage(calls(CALCULATE));
    await approve(chat);
    await chat.sendMessage({ text: "And now?" });
    assert.equal(textOf(chat.lastMessage), "You said: And now?");
    assert.match(texts(await stored())[1], /Then: .*408/);
    assert.deepEqual((await turns(id)).map((turn) => turn.finishReason), ["stop", "stop"]);
  },
  async "offers tools that the page describes"() {
    const plain = await service.newAgent();
    const api = `${service.url}/ai-sdk/agents/${plain}/chat`;
    const { description, parameters } = openCart;
    const transport = new DefaultChatTransport({ api, headers: service.headers, body: { tools: { open_cart: { description, parameters } } } });
    const { chat, opened } = open({ transport });
    await chat.sendMessage(calls(OPEN));
    await until(() => isReady(chat));
    assert.deepEqual(opened, [{ tab: 2 }]);
  },
  async "refuses answers to calls that it does not know"() {
    const { chat } = open();
    await chat.sendMessage({ text: "Hello" });
    const part = { type: "tool-open_cart", toolCallId: "call_1", state: "output-available", input: {}, output: 1 };
    chat.messages = [...chat.messages.slice(0, 1), { ...chat.lastMessage, parts: [part] }];
    await chat.sendMessage();
    assert.equal(chat.status, "error");
    assert.match(chat.error.message, /action_not_found/);
  },
};
const passed = await runCases(cases);
await service.stop();
end({ client: `ai ${major}`, node: process.version, ...passed });
