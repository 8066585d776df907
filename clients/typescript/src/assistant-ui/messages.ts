import type { ThreadMessageLike } from "@assistant-ui/react";
import type { ConversationMessage, ToolCall } from "../message.js";
import { attachmentOf, filePart, type Urls } from "./attachments.js";

type Part = Exclude<ThreadMessageLike["content"], string>[number];

const toolPart = ({ id, name, arguments: args, status, result, needs, approver }: ToolCall): Part => ({
  type: "tool-call",
  toolCallId: id,
  toolName: name,
  args: (args ?? {}) as never,
  ...(/running|waiting/.test(status) ? {} : { result: result ?? null, isError: status !== "ok" }),
  ...(needs === "approval" && approver !== "staff" && { approval: { id } }),
});

/** Returns the reasoning, then the text with the tool calls at their positions, which are in bytes of UTF-8. */
const partsOf = ({ text, reasoning, toolCalls }: ConversationMessage): Part[] => {
  const bytes = new TextEncoder().encode(text);
  const textPart = (from: number, to?: number): Part[] =>
    from < (to ?? bytes.length) ? [{ type: "text", text: new TextDecoder().decode(bytes.subarray(from, to)) }] : [];
  const ordered = toolCalls.toSorted((one, other) => one.at - other.at);
  const upToCalls = ordered.flatMap((call, index) => [...textPart(ordered[index - 1]?.at ?? 0, call.at), toolPart(call)]);
  const thoughts: Part[] = reasoning ? [{ type: "reasoning", text: reasoning }] : [];
  return [...thoughts, ...upToCalls, ...textPart(ordered.at(-1)?.at ?? 0)];
};

const statusOf = ({ status, error }: ConversationMessage): NonNullable<ThreadMessageLike["status"]> => {
  if (status === "complete") return { type: "complete", reason: "stop" };
  if (status === "requires_action") return { type: "requires-action", reason: "tool-calls" };
  if (status === "failed") return { type: "incomplete", reason: "error", ...(error && { error: error.title }) };
  return status === "cancelled" ? { type: "incomplete", reason: "cancelled" } : { type: "running" };
};

/** The id of a message, which stays the same when the service receives it. */
export const idOf = ({ id, clientMessageId }: ConversationMessage): string => clientMessageId ?? id;

/** Returns the rating, which is that of the user if there are several. */
const ratingOf = ({ feedback: [first] = [] }: ConversationMessage) =>
  first && ({ submittedFeedback: { type: first.rating === "up" ? "positive" : "negative" } } as const);

/** Returns a message as assistant-ui shows it; only messages of the user have attachments there. */
export const threadMessage = (message: ConversationMessage, urls: Urls): ThreadMessageLike => {
  const { files, text } = message;
  const shared = { id: idOf(message), createdAt: new Date(message.createdAt) };
  if (message.role === "user")
    return { ...shared, role: "user", content: text, attachments: files.map((file, index) => attachmentOf(file, index, urls)) };
  const content = [...partsOf(message), ...files.flatMap((file) => filePart(file, urls))];
  return { ...shared, role: "assistant", content, status: statusOf(message), metadata: { ...ratingOf(message) } };
};
