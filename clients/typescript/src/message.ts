import type { ChatMessage } from "./chat.js";
import type { ServiceError } from "./errors.js";
import type { ChannelFrame } from "./feed.js";
import type { components } from "./generated/schema.js";
import type { WithUndefined } from "./rest.js";
import type { TurnPart } from "./turn.js";

type StoredMessage = components["schemas"]["Message"];
type StoredCall = components["schemas"]["ToolCall"];

/** A tool call of a reply. While it waits for an answer, it has `needs`, `approver` if that is an approval, and `expiresAt`. */
export interface ToolCall
  extends WithUndefined<
    Pick<StoredCall, "needs" | "approver" | "expiresAt" | "decidedBy" | "decidedAt" | "editedArguments" | "visibility">
  > {
  id: string;
  name: string;
  /** Null if they are not shown to users. */
  arguments: unknown;
  /** `waiting` for an answer, `running` until it has returned, then how it has ended. */
  status: string;
  result?: string | null | undefined;
  /** The position in the text, in bytes of UTF-8. */
  at: number;
}

/** A file of a message. */
export interface MessageFile {
  /** The id of the service, once the file is uploaded. */
  id?: string | undefined;
  name: string;
  mediaType: string;
  /** The size in bytes. */
  bytes: number;
  /** The part that was sent, from 0 to 1, while the file is uploaded. */
  progress?: number | undefined;
  /** Why it could not be uploaded; `title` is for visitors. */
  error?: ConversationMessage["error"];
  /** The content, on the page that has sent it, until the message is read again. */
  file?: Blob | undefined;
}

/** A message of this page. Its files have no id until they are uploaded. */
export interface OwnMessage extends Omit<ChatMessage, "files"> {
  files?: readonly MessageFile[] | undefined;
}

/** Returns a file that a page has chosen, or uploaded before, as a message shows it. */
export const fileOf = (given: Blob | MessageFile): MessageFile => {
  if (!(given instanceof Blob)) return given;
  const { name = "file", type, size } = given as Partial<File> & Blob;
  return { name, mediaType: type, bytes: size, file: given };
};

/** A message as a page shows it. */
export interface ConversationMessage<Output = unknown> {
  /** The id of the service; until the service has received the message, that of the client. */
  id: string;
  role: "user" | "agent";
  text: string;
  /**
   * `complete` only if the whole message is known. A user's message has the end of its turn. A reply that waits for
   * answers to tool calls has `requires_action`.
   */
  status: "sending" | "streaming" | "requires_action" | "complete" | "failed" | "cancelled";
  toolCalls: readonly ToolCall[];
  /** What the model reasons before its reply, where the agent shows it. Messages that are read have none: it is in their turns. */
  reasoning?: string | undefined;
  files: readonly MessageFile[];
  /** Of a complete reply by a schema: its value, which can be null. The text is its JSON. */
  output?: Output | undefined;
  /** The time at which it was stored, as an ISO text. Until that is known, when this page has shown it first. */
  createdAt: string;
  /** Why a message of the user has `failed`; `title` is for visitors. */
  error?: Pick<ServiceError, "code" | "title" | "retryable"> | undefined;
  /** Who has written a message in place of the agent. */
  author?: StoredMessage["author"];
  /** The ratings of a message of the agent or of staff: a user sees its own. */
  feedback?: StoredMessage["feedback"];
  /** The client's own id of a user's message. */
  clientMessageId?: string | undefined;
  turnId?: string | undefined;
}

/** The state of a conversation. It is replaced, never changed. */
export interface ConversationState<Output = unknown> {
  /** The newest messages, and those of `loadOlder`, in their order. A reply appears with its first reasoning, text or tool call. */
  messages: readonly ConversationMessage<Output>[];
  /** True if `loadOlder` returns older messages. */
  hasOlder: boolean;
  /** `sending` until the turn has started, then `streaming` to its end, or until it waits for answers to tool calls: `requires_action`. */
  status: "loading" | "ready" | "sending" | "streaming" | "requires_action" | "failed";
  /** The reason for `failed`: the newest turn, or a request, has failed. */
  error?: ServiceError | undefined;
  /** The principal that types elsewhere; `staff` in place of its id for users. */
  typing?: string | undefined;
}

const statusOf = ({ role, turnStatus, finishReason }: StoredMessage): ConversationMessage["status"] => {
  const isReply = role === "agent";
  // Of a turn that waits, or goes on after that. If it has failed since, no other reason replaces the one of the wait.
  if (isReply && turnStatus) return turnStatus === "requires_action" ? turnStatus : "streaming";
  if (isReply && finishReason === "requires_action") return "failed";
  const status = isReply ? finishReason : turnStatus;
  return status === "failed" || status === "cancelled" ? status : "complete";
};

const toolCallsOf = (calls: StoredCall[] = []): ToolCall[] => calls.map((call, index) => ({ id: String(index), at: 0, ...call }));

/** Returns a call whose turn goes on. One that waits for staff does so beyond the end of its turn. */
const resumed = (call: ToolCall): ToolCall =>
  call.needs && call.approver !== "staff" ? { ...call, status: "running", needs: undefined, expiresAt: undefined } : call;

/** Returns a stored message as a page shows it. */
export const messageOf = (message: StoredMessage): ConversationMessage => {
  const { id, role, content: text, files = [], createdAt, error, output, author, feedback, clientMessageId, turnId } = message;
  const status = statusOf(message);
  const toolCalls = toolCallsOf(message.toolCalls);
  return {
    id,
    role,
    text,
    status,
    toolCalls: status === "streaming" ? toolCalls.map(resumed) : toolCalls,
    files,
    createdAt,
    error: status === "failed" ? error : undefined,
    output,
    author,
    feedback,
    clientMessageId: clientMessageId ?? undefined,
    turnId: turnId ?? undefined,
  };
};

export type Messages = readonly ConversationMessage[];
type Change = (message: ConversationMessage) => Partial<ConversationMessage>;

/** Returns true unless it is a reply that has not begun, or has ended before that. */
export const hasContent = ({ role, status, text, reasoning, toolCalls, files }: ConversationMessage): boolean =>
  role === "user" || !!(text || (reasoning && status === "streaming") || toolCalls.length || files.length);

/** Returns the time of this device, for what has not been stored yet. */
export const now = (): string => new Date().toISOString();

/** Changes the messages of a turn, or only its reply. */
const change = (messages: Messages, id: string, changed: Change, onlyReply = true): Messages =>
  messages.map((known) => (known.turnId === id && (known.role === "agent" || !onlyReply) ? { ...known, ...changed(known) } : known));

/** Changes the message with an id of the client. */
export const changeSent = (messages: Messages, id: string | null | undefined, changed: Partial<ConversationMessage>): Messages =>
  messages.map((known) => (id && known.clientMessageId === id ? { ...known, ...changed } : known));

/** Returns a text with a part. Another attempt begins at 0. A part that does not continue the text is left out until the end. */
const withDelta = (known = "", { from, text }: { from: number; text: string }): string => {
  if (!from) return text;
  return from === new TextEncoder().encode(known).length ? known + text : known;
};

/** Applies a part of a turn. `sent` is the client's id of the message that it answers, if known. */
export const applyPart = (messages: Messages, part: TurnPart, sent?: string | null): Messages => {
  const { turnId } = part;
  switch (part.type) {
    case "turn.queued":
      return changeSent(messages, sent, { turnId, status: "complete" });
    case "turn.started": {
      const { messageId, replyId } = part;
      // A turn that continues another one has no message, and names its reply instead.
      const at = messages.findIndex(
        (known) => (known.id === messageId && known.id !== replyId) || (sent && known.clientMessageId === sent),
      );
      const first = { id: replyId ?? "", role: "agent", text: "", toolCalls: [], files: [], createdAt: now(), turnId } as const;
      const begun = messages.find(({ id }) => id === replyId) ?? first;
      // There is none while staff handles the conversation.
      const reply = replyId ? [{ ...begun, status: "streaming" } as const] : [];
      // An unfinished reply after the message is that of a turn that this one repeats.
      const isOutdated = ({ id, role, status }: ConversationMessage, index: number) =>
        id === replyId || (at >= 0 && index > at && role === "agent" && /streaming|failed/.test(status));
      return messages
        .flatMap((known, index): ConversationMessage[] => {
          if (index === at) return [{ ...known, id: messageId, turnId, status: "complete", error: undefined }, ...reply];
          return isOutdated(known, index) ? [] : [known];
        })
        .concat(at < 0 ? reply : []);
    }
    case "reasoning.delta":
      return change(messages, turnId, ({ reasoning }) => ({ reasoning: withDelta(reasoning, part) }));
    case "reply.delta":
      return change(messages, turnId, ({ text }) => ({ text: withDelta(text, part) }));
    case "tool.called": {
      const { id, name, at } = part;
      const call = { id, name, at, arguments: part.arguments, status: "running" };
      return change(messages, turnId, ({ toolCalls }) => {
        // After an answer to another call, the stream tells the turn from its beginning.
        const isWaiting = toolCalls.some((known) => known.id === id && known.needs);
        return isWaiting ? {} : { toolCalls: [...toolCalls.filter((known) => known.id !== id), call] };
      });
    }
    case "tool.returned": {
      const { id, status, result = null, needs, approver } = part;
      const returned = (call: ToolCall): ToolCall => (call.id === id ? { ...call, status, result, needs, approver } : call);
      return change(messages, turnId, ({ toolCalls }) => ({ toolCalls: toolCalls.map(returned) }));
    }
    case "turn.requires_action":
      return change(messages, turnId, () => ({ status: "requires_action", toolCalls: toolCallsOf(part.toolCalls) }));
    case "turn.resumed":
      return change(messages, turnId, ({ toolCalls }) => ({ status: "streaming", toolCalls: toolCalls.map(resumed) }));
    case "turn.completed":
      return change(messages, turnId, () => ({
        text: part.message,
        output: part.output,
        createdAt: part.createdAt,
        status: "complete",
      }));
    case "turn.cancelled":
      return change(messages, turnId, () => ({ status: "cancelled" }), false);
    case "turn.failed":
      return change(messages, turnId, ({ role }) => ({ status: "failed", error: role === "user" ? part.error : undefined }), false);
    default:
      // A newer service has more kinds of parts.
      return messages;
  }
};

/** Returns the messages with one that is being sent in its place. */
export const withSending = (messages: Messages, message: OwnMessage): Messages => {
  const { message: text = "", files = [], clientMessageId, supersedes } = message;
  const at = messages.findIndex(({ id }) => id === supersedes);
  // What staff has written stays.
  const before = at < 0 ? messages : messages.filter(({ author }, index) => index < at || author);
  if (!(text || files.length) || !clientMessageId || before.some((known) => known.clientMessageId === clientMessageId)) return before;
  const shown = {
    id: clientMessageId,
    clientMessageId,
    role: "user",
    text,
    status: "sending",
    toolCalls: [],
    files,
    createdAt: now(),
  } as const;
  return [...before, shown];
};

/** Returns true if the messages contain the end of a turn. */
export const hasEnded = (messages: Messages, id: string): boolean =>
  messages.some(
    ({ turnId, role, status }) =>
      turnId === id && (role === "agent" ? !/streaming|requires/.test(status) : /failed|cancelled/.test(status)),
  );

/** Returns the messages of a turn, unless it has a reply or has ended otherwise. */
const unanswered = (messages: Messages, id: string | undefined): ConversationMessage[] | undefined => {
  const own = messages.filter(({ turnId }) => turnId === id);
  return own.every(({ role, status }) => role === "user" && status === "complete") ? own : undefined;
};

/** Returns the messages with the start of the reply of a turn, unless it has one. A turn that continues another one has no message. */
export const withReply = (messages: Messages, turnId: string): Messages => {
  const own = unanswered(messages, turnId);
  return own ? applyPart(messages, { type: "turn.started", turnId, messageId: own[0]?.id, replyId: turnId } as TurnPart) : messages;
};

/** Applies live data of a reply. */
export const applyLive = (messages: Messages, event: Extract<ChannelFrame, { type: "live" }>["event"]): Messages => {
  if (event.type === "reply.snapshot") return change(messages, event.turnId, () => ({ text: event.text }));
  return applyPart(messages, event as TurnPart);
};

/**
 * Returns the stored messages, with those that are still being sent or generated, or were rejected.
 * A reply can have ended while the messages were read, so it is kept until it is stored. The turn `own`, whose stream is
 * read, can have started meanwhile.
 */
export const merge = (stored: Messages, known: Messages, own?: string): Messages =>
  known.reduce((merged, message) => {
    const { role, status, clientMessageId, turnId } = message;
    const isNew = status === "sending" || (turnId ? turnId === own && role === "user" : status === "failed");
    if (isNew && !stored.some((other) => other.clientMessageId === clientMessageId)) return merged.concat(message);
    const answered = role === "agent" && unanswered(merged, turnId)?.[0];
    return answered ? merged.flatMap((other) => (other === answered ? [other, message] : other)) : merged;
  }, stored);
