// The model's reasoning in chats of the AI SDK, live and resumed: `node reasoning.mjs`, with the address, a key and an
// agent as JSON on its input.
import assert from "node:assert/strict";
import { json } from "node:stream/consumers";
import { end } from "../cases.mjs";
import { newChat, sdk, textOf } from "./chat.mjs";

const { url, key, agent } = await json(process.stdin);
const headers = { authorization: `Bearer ${key}` };

const shown = ({ parts }) => {
  const reasoning = parts.filter((part) => part.type === "reasoning");
  assert.ok(reasoning.every((part) => part.state === "done"), JSON.stringify(parts));
  return { reasoning: reasoning.map((part) => part.text).join(""), text: textOf({ parts }), first: parts[1].type };
};

const received = {};
for (const major of ["6", "7"]) {
  const transport = new sdk[major].DefaultChatTransport({ api: `${url}/ai-sdk/agents/${agent}/chat`, headers });
  const id = `chat-${major}`;
  const { chat } = newChat(major, { id, transport });
  await chat.sendMessage({ text: "Hi" });
  assert.equal(chat.status, "ready", String(chat.error));
  const { chat: again } = newChat(major, { id, transport, messages: chat.messages.slice(0, 1) });
  await again.resumeStream();
  assert.equal(again.status, "ready", String(again.error));
  received[major] = [chat, again].map(({ lastMessage }) => shown(lastMessage));
}
end(received);
