// A chat of the AI SDK without a user interface, and the values that tests compare.
import assert from "node:assert/strict";

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => (this.messages = [...this.messages, message]);
  popMessage = () => (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => (this.messages = this.messages.with(index, message));
  snapshot = structuredClone;
}

// A chat of a major version, and what it reports.
export const sdk = Object.fromEntries(
  await Promise.all(["6", "7"].map(async (major) => [major, await import(`ai-${major}`)])),
);
export const newChat = (major, { messages = [], ...init }) => {
  class Chat extends sdk[major].AbstractChat {
    constructor() {
      super({ ...init, onFinish, onError, onData, state: Object.assign(new State(), { messages }) });
    }
  }
  const seen = { finishes: [], errors: [], data: [] };
  const onFinish = (finish) => seen.finishes.push(finish);
  const onError = (error) => seen.errors.push(error);
  const onData = (part) => seen.data.push(part);
  return { chat: new Chat(), seen };
};

export const textOf = (message) =>
  message.parts.filter((part) => part.type === "text").map((part) => part.text).join("");

// Whether a part of the reply has arrived.
export const hasReply = (chat) => chat.lastMessage?.role === "assistant" && textOf(chat.lastMessage) !== "";

export const texts = (messages) => messages.map((message) => `${message.role}: ${textOf(message)}`);

// What stays the same when a message is read again.
const essence = (messages) =>
  messages.map(({ id, role, parts }) => ({
    id,
    role,
    parts: parts.map(({ state, ...part }) => (part.type === "text" ? { type: part.type, text: part.text } : { ...part, state })),
  }));

export const assertEqualMessages = (some, others) =>
  assert.deepEqual(...[some, others].map((messages) => JSON.parse(JSON.stringify(essence(messages)))));
