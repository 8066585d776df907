import type { ChatMessage } from "./chat.js";
import type { ConversationState, MessageFile } from "./message.js";
import type { KeyValueStorage } from "./outbox.js";
import type { LiveState } from "./state.js";
import type { ConversationName } from "./view.js";

/** Names a conversation. */
export type ConversationOptions = ConversationName & {
  /** Keeps unsent messages over a reload; `sessionStorage` by default. */
  storage?: KeyValueStorage | undefined;
};

/**
 * What a message can have besides its text. `title` is that of the conversation, if the message creates it;
 * `clientTools` are tools of the page for its turn, beside those of the agent; `responseSchema` describes the `output` of
 * the reply.
 */
export type SendOptions = Pick<ChatMessage, "title" | "metadata" | "clientTools" | "responseSchema"> & FileOptions;

export interface FileOptions {
  /** Files that the user has chosen, which are uploaded first, or what their uploads have returned; at most 8. */
  files?: readonly (Blob | MessageFile)[] | undefined;
}

/**
 * The functions of the page that the agent can call, by the names of its tools with `run: "client"`. What a function
 * returns is the output of the call, and what it throws is its error.
 */
// biome-ignore lint/suspicious/noExplicitAny: the schema of the tool describes the arguments.
export type PageTools = Record<string, (args: any) => unknown>;

/** A conversation with its live state, for user interfaces of any framework. */
export interface Conversation<Output = unknown> extends LiveState<ConversationState<Output>> {
  /**
   * Reads the messages, sends those that a reload has interrupted, follows the replies in progress
   * to their end, and from then on shows the changes by other tabs and devices. Further calls do
   * nothing until `close`, unless the status is `failed`.
   */
  load(this: void): Promise<void>;
  /** Reads the messages before those that are shown, at most 100; resolves once they are shown. */
  loadOlder(this: void): Promise<void>;
  /** Sends a message, after the turns of earlier ones; resolves at the end of its turn. With `files`, the text can be empty. */
  send(this: void, text: string, options?: SendOptions): Promise<void>;
  /** Replaces a message of the user, and all later messages. It keeps its files, unless `files` are others. */
  edit(this: void, id: string, text: string, options?: FileOptions): Promise<void>;
  /** Generates the newest reply, or the reply with this id, again; sends a message again that has failed. */
  regenerate(this: void, id?: string): Promise<void>;
  /** Cancels the turn in progress, or the one that is being started. */
  stop(this: void): Promise<void>;
  /** Approves a tool call that waits for it; resolves at the end of the turn, or once it waits again. */
  approve(this: void, callId: string): Promise<void>;
  /** Denies a tool call. The agent reads the reason. */
  deny(this: void, callId: string, reason?: string): Promise<void>;
  /** Rates a message of the agent or of staff; null deletes the rating. Throws the error of the service. */
  rate(this: void, id: string, rating: "up" | "down" | null, comment?: string): Promise<void>;
  /** Reports to others who see the conversation that the user types, as for each change of a text field, or has stopped. Needs `chat:write`. */
  setTyping(this: void, isTyping: boolean): void;
  /** Answers the calls of these tools from now on, also those that wait already. Of several tabs, one answers. */
  setTools(this: void, tools: PageTools): void;
  /** Ends the requests in progress. Turns continue at the service. The next `load` or `send` opens the conversation again. */
  close(this: void): void;
}
