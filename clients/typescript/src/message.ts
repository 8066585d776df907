import type { ChatMessage } from "./chat.js";
import type { Received } from "./feed.js";
import type { ConnectionError, Problem } from "./errors.js";
import type { components } from "./generated/schema.js";
import type { TurnPart } from "./turn.js";

type StoredMessage = components["schemas"]["Message"];

/** A tool call of a reply. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: unknown;
  /** `running` until it has returned. */
  status: string;
  result?: string | null;
  /** The position in the text, in bytes of UTF-8. */
  at: number;
}

/** A message as a page shows it. */
export interface ConversationMessage {
  /** The id of the service; until the service has received the message, that of the client. */
  id: string;
  role: "user" | "agent";
  text: string;
  /** `complete` only if the whole message is known. A user's message has the end of its turn. */
  status: "sending" | "streaming" | "complete" | "failed" | "cancelled";
  toolCalls: readonly ToolCall[];
  /** The client's own id of a user's message. */
  clientMessageId?: string;
  turnId?: string;
}

/** The state of a conversation. It is replaced, never changed. */
export interface ConversationState {
  messages: readonly ConversationMessage[];
  /** `sending` until the turn has started, then `streaming` to its end. */
  status: "loading" | "ready" | "sending" | "streaming" | "failed";
  /** The reason for `failed`: the newest turn, or a request, has failed. */
  error?: Problem | ConnectionError;
}

const statusOf = ({ role, turnStatus, finishReason }: StoredMessage): ConversationMessage["status"] => {
  if (role === "agent") return finishReason === "cancelled" ? "cancelled" : "complete";
  return turnStatus === "failed" || turnStatus === "cancelled" ? turnStatus : "complete";
};

/** Returns a stored message as it is shown. */
export const shown = (message: StoredMessage): ConversationMessage => ({
  id: message.id,
  role: message.role,
  text: message.content,
  status: statusOf(message),
  toolCalls: (message.toolCalls ?? []).map((call, index) => ({ id: String(index), at: 0, ...call })),
  ...(message.clientMessageId ? { clientMessageId: message.clientMessageId } : {}),
  ...(message.turnId ? { turnId: message.turnId } : {}),
});

export type Messages = readonly ConversationMessage[];

/** Changes the messages of one turn: those with its id, and the user's message that starts it. */
const change = (
  messages: Messages,
  role: ConversationMessage["role"],
  turnId: string,
  changed: (message: ConversationMessage) => Partial<ConversationMessage>,
): Messages => messages.map((known) => (known.role === role && known.turnId === turnId ? { ...known, ...changed(known) } : known));

/** Applies a part of a turn. `sent` is the client's id of the message that it answers, if known. */
export const applyPart = (messages: Messages, part: TurnPart, sent: string | undefined): Messages => {
  const { turnId } = part;
  const ofReply = (changed: (reply: ConversationMessage) => Partial<ConversationMessage>) =>
    change(messages, "agent", turnId, changed);
  switch (part.type) {
    case "turn.queued":
      return messages.map((known) => (sent !== undefined && known.clientMessageId === sent ? { ...known, turnId, status: "complete" } : known));
    case "turn.started": {
      const { messageId, replyId } = part;
      const isAnswered = (known: ConversationMessage) =>
        known.id === messageId || (sent !== undefined && known.clientMessageId === sent);
      const confirmed = messages.map((known) => (isAnswered(known) ? { ...known, id: messageId, turnId, status: "complete" as const } : known));
      const at = confirmed.findIndex(isAnswered);
      // What follows the message is the half reply of a turn that this one repeats.
      const kept = at < 0 ? confirmed : confirmed.filter(({ status }, index) => index <= at || (status !== "streaming" && status !== "failed"));
      const others = kept.filter(({ id }) => id !== replyId);
      const reply = { id: replyId, role: "agent", text: "", status: "streaming", toolCalls: [], turnId } as const;
      return others.toSpliced(at < 0 ? others.length : at + 1, 0, reply);
    }
    case "reply.delta":
      return ofReply(({ text }) => ({ text: text + part.text }));
    case "tool.called": {
      const { id, name, at } = part;
      return ofReply(({ toolCalls }) => ({ toolCalls: [...toolCalls.filter((call) => call.id !== id), { id, name, at, arguments: part.arguments, status: "running" }] }));
    }
    case "tool.returned": {
      const { id, status, result = null } = part;
      const returned = (call: ToolCall): ToolCall => (call.id === id ? { ...call, status, result } : call);
      return ofReply(({ toolCalls }) => ({ toolCalls: toolCalls.map(returned) }));
    }
    case "turn.completed":
      return ofReply(() => ({ text: part.message, status: "complete" }));
    case "turn.cancelled":
    case "turn.failed": {
      const status = part.type === "turn.failed" ? "failed" : "cancelled";
      return change(ofReply(() => ({ status })), "user", turnId, () => ({ status }));
    }
  }
};

/** Returns the messages with one that is being sent in its place. */
export const withSending = (messages: Messages, message: ChatMessage): Messages => {
  const { message: text, clientMessageId, supersedes } = message;
  const at = supersedes ? messages.findIndex(({ id }) => id === supersedes) : -1;
  const before = at < 0 ? messages : messages.slice(0, at);
  if (text === undefined || !clientMessageId || before.some((known) => known.clientMessageId === clientMessageId)) return before;
  return [...before, { id: clientMessageId, clientMessageId, role: "user", text, status: "sending", toolCalls: [] }];
};

/** Returns the messages after one could not be sent: those that it would have replaced are shown again. */
export const withUnsent = (messages: Messages, message: ChatMessage, before: Messages, isRejected: boolean): Messages => {
  const { clientMessageId, supersedes } = message;
  const isOwn = (known: ConversationMessage) => !!clientMessageId && known.clientMessageId === clientMessageId;
  if (!supersedes) return isRejected ? messages.map((known) => (isOwn(known) ? { ...known, status: "failed" } : known)) : messages;
  const others = messages.filter((known) => !isOwn(known));
  return [...others, ...before.filter(({ id }) => !others.some((known) => known.id === id))];
};

/** Returns whether all of a turn is shown already. */
export const hasEnded = (messages: Messages, id: string): boolean =>
  messages.some(({ turnId, role, status }) => turnId === id && (role === "agent" ? status !== "streaming" : /failed|cancelled/.test(status)));

/** Returns the messages with an empty reply to the message of a turn, unless it has one. */
export const withReply = (messages: Messages, turnId: string): Messages => {
  const own = messages.filter((known) => known.turnId === turnId);
  if (own[0]?.status !== "complete" || own.length > 1) return messages;
  const reply = { id: turnId, role: "agent", text: "", status: "streaming", toolCalls: [], turnId } as const;
  return messages.toSpliced(messages.indexOf(own[0]) + 1, 0, reply);
};

/** Applies live data of a reply. Data that does not continue the text is left out until the end of the turn. */
export const applyLive = (messages: Messages, event: Extract<Received, { type: "live" }>["event"]): Messages => {
  if (event.type === "typing.updated") return messages;
  if (event.type === "reply.snapshot") return change(messages, "agent", event.turnId, () => ({ text: event.text }));
  const reply = messages.find(({ role, turnId }) => role === "agent" && turnId === event.turnId);
  const isNext = event.type !== "reply.delta" || event.from === new TextEncoder().encode(reply?.text).length;
  return isNext ? applyPart(messages, event as TurnPart, undefined) : messages;
};

/** Returns the stored messages, with those that are still being sent or generated. */
export const merge = (stored: Messages, known: Messages): Messages => {
  const isSent = ({ clientMessageId }: ConversationMessage) => stored.some((other) => other.clientMessageId === clientMessageId);
  let merged = [...stored, ...known.filter((message) => message.status === "sending" && !isSent(message))];
  for (const message of known) {
    const own = merged.filter(({ turnId }) => turnId === message.turnId);
    const isGenerated = message.status === "streaming" && own.length === 1 && own[0]?.status === "complete";
    if (isGenerated) merged = merged.toSpliced(merged.indexOf(own[0]!) + 1, 0, message);
  }
  return merged;
};
