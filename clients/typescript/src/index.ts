/**
 * Client of Agent Service.
 *
 * ```ts
 * const service = createClient({ url: "https://agents.example.org", getToken });
 * for await (const part of service.chat({ agentId, message: "Hello" })) {
 *   if (part.type === "reply.delta") show(part.text);
 * }
 * ```
 */
import { type ChatMessage, streamChat } from "./chat.js";
import { createConversation } from "./conversation.js";
import type { Conversation, ConversationOptions, FileOptions, PageTools, SendOptions } from "./conversation-types.js";
import type { EventsOptions, LogEvent, Typing } from "./events.js";
import type { Files } from "./files.js";
import { createLazyFeed } from "./lazy-feed.js";
import { lazyFiles } from "./lazy-files.js";
import { createRest, type Rest } from "./rest.js";
import { type ClientOptions, createTransport, type RequestOptions, segment } from "./transport.js";
import { followTurn, type TurnPart } from "./turn.js";

export { ConnectionError, type Problem, type ProblemCode, ProblemError, type ServiceError } from "./errors.js";
export type { FileLink, Files, StoredFile, UploadOptions } from "./files.js";
export type { Command, ServerFrame } from "./generated/frames.js";
export type { components, paths } from "./generated/schema.js";
export type { ConversationMessage, ConversationState, MessageFile, ToolCall } from "./message.js";
export type { KeyValueStorage } from "./outbox.js";
export { randomId } from "./random-id.js";
export type {
  ChatMessage,
  ClientOptions,
  Conversation,
  ConversationOptions,
  EventsOptions,
  FileOptions,
  LogEvent,
  PageTools,
  RequestOptions,
  Rest,
  SendOptions,
  TurnPart,
  Typing,
};

/** A client of one service. */
export interface Client extends Omit<Rest, "events" | "files"> {
  /** Files of messages. */
  readonly files: Files;
  /** Returns the events of the log after `since`, and then each new one; `events.list` returns a page. */
  events: Rest["events"] & ((options?: EventsOptions) => AsyncGenerator<LogEvent, void>);
  /** Sends a message and returns the parts of its turn. `Output` is the type that its `responseSchema`, or that of the agent, describes. */
  chat<Output = unknown>(message: ChatMessage, options?: RequestOptions): AsyncGenerator<TurnPart<Output>, void>;
  /** Returns the parts of the turn in progress of a conversation, or of the one that has just ended, from its beginning. */
  follow(conversationId: string, options?: RequestOptions): AsyncGenerator<TurnPart, void>;
  /** Returns a conversation with its live state. It sends nothing before `load` or `send`. */
  conversation<Output = unknown>(options: ConversationOptions): Conversation<Output>;
  /** Sends a request to a path of the service, such as one of another protocol, with the credential of the client. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** Creates a client. It sends nothing by itself. */
export const createClient = (options: ClientOptions): Client => {
  if (!globalThis.crypto?.getRandomValues) throw new TypeError("crypto.getRandomValues is missing: load a polyfill");
  const transport = createTransport(options);
  const rest = createRest(transport);
  const { webSocket = globalThis.WebSocket } = options;
  const feed = createLazyFeed(transport, webSocket);
  return {
    ...rest,
    files: lazyFiles(transport),
    events: Object.assign(feed.events, rest.events),
    chat: <Output>(message: ChatMessage, requestOptions?: RequestOptions) => streamChat<Output>(transport, message, requestOptions),
    follow: (id, { signal } = {}) => followTurn(transport, segment(id), signal),
    conversation: <Output>(conversation: ConversationOptions) =>
      createConversation(transport, rest, feed, conversation) as Conversation<Output>,
    fetch: transport.fetch,
  };
};
