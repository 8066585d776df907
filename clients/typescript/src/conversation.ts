import { type ChatMessage, streamChat } from "./chat.js";
import { ConnectionError, ProblemError, type Problem } from "./errors.js";
import type { components } from "./generated/schema.js";
import type { Rest } from "./rest.js";
import { defaultStorage, type KeyValueStorage, Store } from "./store.js";
import type { Transport } from "./transport.js";
import { streamTurn, type TurnPart } from "./turn.js";

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
  /** `complete` only if the whole message is known. */
  status: "sending" | "streaming" | "complete" | "failed" | "cancelled";
  toolCalls: readonly ToolCall[];
  /** The client's own id of a user's message. */
  clientMessageId?: string;
  turnId?: string;
  /** The reason why the turn of a user's message failed. */
  error?: { code: string; title: string; retryable: boolean };
}

/** The state of a conversation. It is replaced, never changed. */
export interface ConversationState {
  messages: readonly ConversationMessage[];
  /** `sending` until the turn has started, then `streaming` to its end. */
  status: "loading" | "ready" | "sending" | "streaming" | "failed";
  /** The reason for `failed`: the newest turn, or a request, has failed. */
  error?: Problem | ConnectionError | undefined;
}

/** Names a conversation. */
export interface ConversationOptions {
  agentId: string;
  /** Your own name for the conversation. The first message creates it. */
  key: string;
  /** The user, for callers that act for several users. */
  userId?: string;
  /** Keeps unsent messages over a reload; `sessionStorage` by default. */
  storage?: KeyValueStorage;
}

/** What was sent, and is not known to be received. */
interface Unsent {
  message: ChatMessage;
  idempotencyKey: string;
}

const LOADED = 100;

const statusOf = ({ role, turnStatus, finishReason }: StoredMessage): ConversationMessage["status"] => {
  if (role === "agent") return finishReason === "cancelled" ? "cancelled" : "complete";
  return turnStatus === "failed" || turnStatus === "cancelled" ? turnStatus : "complete";
};

const shown = (message: StoredMessage): ConversationMessage => ({
  id: message.id,
  role: message.role,
  text: message.content,
  status: statusOf(message),
  toolCalls: (message.toolCalls ?? []).map((call, index) => ({ id: String(index), at: 0, ...call })),
  ...(message.clientMessageId ? { clientMessageId: message.clientMessageId } : {}),
  ...(message.turnId ? { turnId: message.turnId } : {}),
  ...(message.error ? { error: message.error } : {}),
});

/** A conversation with its live state, for user interfaces of any framework. */
export class Conversation {
  readonly #transport: Transport;
  readonly #rest: Rest;
  readonly #options: ConversationOptions;
  readonly #storage: KeyValueStorage;
  readonly #store = new Store<ConversationState>({ messages: [], status: "loading" });
  #closing = new AbortController();
  #loading: Promise<void> | undefined;
  #turnId: string | undefined;

  constructor(transport: Transport, rest: Rest, options: ConversationOptions) {
    this.#transport = transport;
    this.#rest = rest;
    this.#options = options;
    this.#storage = options.storage ?? defaultStorage();
  }

  /** Returns the current state; the same object until it changes. */
  readonly getSnapshot = (): ConversationState => this.#store.getSnapshot();

  /** Calls `listener` after each change. Returns a function that ends this. */
  readonly subscribe = (listener: () => void): (() => void) => this.#store.subscribe(listener);

  /**
   * Reads the messages, sends a message that a reload has interrupted, and follows a reply in
   * progress to its end. Further calls do nothing until `close`.
   */
  readonly load = (): Promise<void> => {
    if (this.#closing.signal.aborted) this.#closing = new AbortController();
    this.#loading ??= this.#run((signal) => this.#resume(signal));
    return this.#loading;
  };

  /** Sends a message; resolves at the end of its turn. */
  readonly send = (text: string): Promise<void> => this.#start({ message: text });

  /** Generates the newest reply, or the reply with this id, again. */
  readonly regenerate = (id?: string): Promise<void> => {
    const { messages } = this.getSnapshot();
    const named = messages.findLast((message) => (id === undefined ? message.role === "agent" : message.id === id));
    if (named === undefined) throw new Error("the conversation has no such reply");
    return this.#start({ supersedes: named.id });
  };

  /** Replaces a message of the user, and all later messages. */
  readonly edit = (id: string, text: string): Promise<void> => this.#start({ message: text, supersedes: id });

  /** Cancels the turn in progress. */
  readonly stop = async (): Promise<void> => {
    if (this.#turnId !== undefined) await this.#rest.turns.cancel(this.#turnId);
  };

  /** Ends the requests in progress. The turn in progress continues at the service, and `load` resumes it. */
  readonly close = (): void => {
    this.#closing.abort();
    this.#loading = undefined;
  };

  get #outbox(): string {
    const { agentId, key, userId = "" } = this.#options;
    return `agent-service:${agentId}:${userId}:${key}`;
  }

  async #start(part: Partial<ChatMessage>): Promise<void> {
    await this.#loading;
    const { agentId, key: conversationKey, userId } = this.#options;
    const clientMessageId = part.message === undefined ? {} : { clientMessageId: crypto.randomUUID() };
    const message = { agentId, conversationKey, ...(userId === undefined ? {} : { userId }), ...clientMessageId, ...part };
    const unsent = { message, idempotencyKey: crypto.randomUUID() };
    // Kept before it is sent, so that it is sent once even if the page is reloaded meanwhile.
    this.#storage.setItem(this.#outbox, JSON.stringify(unsent));
    await this.#run((signal) => this.#deliver(unsent, signal));
  }

  /** Runs a request until the conversation is closed, and shows why it failed. */
  async #run(request: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    try {
      await request(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ProblemError) && !(error instanceof ConnectionError)) throw error;
      // A rejected message is not sent again.
      if (error instanceof ProblemError && !error.problem.retryable) this.#storage.removeItem(this.#outbox);
      this.#end("failed", error instanceof ProblemError ? error.problem : error);
    }
  }

  async #resume(signal: AbortSignal): Promise<void> {
    const { agentId, key, userId } = this.#options;
    const query = { agentId, key, ...(userId === undefined ? {} : { userId }) };
    const found = (await this.#rest.conversations.list(query, { signal })).data[0];
    if (found !== undefined) {
      const page = await this.#rest.conversations.listMessages(found.id, { order: "desc", limit: LOADED }, { signal });
      const messages = page.data.map(shown).reverse();
      this.#store.update((state) => ({ ...state, messages }));
    }
    const kept = this.#storage.getItem(this.#outbox);
    if (kept !== null) return this.#deliver(JSON.parse(kept) as Unsent, signal);
    if (found?.openTurns?.length) {
      const request = { method: "GET", path: `/api/conversations/${found.id}/stream`, signal };
      return this.#apply(streamTurn(this.#transport, request, true));
    }
    this.#store.update((state) => ({ ...state, status: "ready" }));
  }

  /** Sends a message and shows its turn. A message that was received before is not stored again. */
  async #deliver({ message, idempotencyKey }: Unsent, signal: AbortSignal): Promise<void> {
    this.#store.update(({ messages }) => ({ status: "sending", messages: this.#sending(messages, message) }));
    await this.#apply(streamChat(this.#transport, message, { idempotencyKey, signal }));
    this.#storage.removeItem(this.#outbox);
  }

  /** Returns the messages with one that is being sent in its place. */
  #sending(messages: readonly ConversationMessage[], message: ChatMessage): readonly ConversationMessage[] {
    const { message: text, clientMessageId, supersedes } = message;
    const isReplaced = (known: ConversationMessage) =>
      known.id === supersedes || (clientMessageId && known.clientMessageId === clientMessageId);
    const at = messages.findIndex(isReplaced);
    const before = at < 0 ? messages : messages.slice(0, at);
    if (text === undefined || !clientMessageId) return before;
    return [...before, { id: clientMessageId, clientMessageId, role: "user", text, status: "sending", toolCalls: [] }];
  }

  async #apply(parts: AsyncIterable<TurnPart>): Promise<void> {
    for await (const part of parts) this.#applyPart(part);
    if (this.getSnapshot().status !== "failed") this.#end("ready");
  }

  #applyPart(part: TurnPart): void {
    this.#turnId = part.turnId;
    switch (part.type) {
      case "turn.queued":
        return this.#confirm(part.turnId);
      case "turn.started": {
        this.#confirm(part.turnId, part.messageId);
        const reply: ConversationMessage = { id: part.replyId, role: "agent", text: "", status: "streaming", toolCalls: [], turnId: part.turnId };
        return this.#store.update(({ messages }) => ({
          status: "streaming",
          // A half reply is that of a turn that this one repeats.
          messages: [...messages.filter(({ id, status }) => id !== part.replyId && status !== "streaming"), reply],
        }));
      }
      case "reply.delta":
        return this.#changeReply((reply) => ({ text: reply.text + part.text }));
      case "tool.called": {
        const { id, name, at } = part;
        return this.#changeReply(({ toolCalls }) => ({ toolCalls: [...toolCalls, { id, name, at, arguments: part.arguments, status: "running" }] }));
      }
      case "tool.returned": {
        const { id, status, result } = part;
        const returned = (call: ToolCall): ToolCall => (call.id === id ? { ...call, status, result: result ?? null } : call);
        return this.#changeReply(({ toolCalls }) => ({ toolCalls: toolCalls.map(returned) }));
      }
      case "turn.completed":
        return this.#changeReply(() => ({ text: part.message, status: "complete" }));
      case "turn.cancelled":
        return this.#changeReply(() => ({ status: "cancelled" }));
      case "turn.failed": {
        this.#changeReply(() => ({ status: "failed" }));
        return this.#end("failed", part.error);
      }
    }
  }

  /** Marks the user's newest message as received. */
  #confirm(turnId: string, id?: string): void {
    this.#store.update((state) => {
      const at = state.messages.findLastIndex(({ role }) => role === "user");
      const known = state.messages[at];
      if (known === undefined) return state;
      const confirmed = { ...known, id: id ?? known.id, turnId, status: "complete" as const };
      return { ...state, messages: state.messages.with(at, confirmed) };
    });
  }

  #changeReply(change: (reply: ConversationMessage) => Partial<ConversationMessage>): void {
    this.#store.update((state) => {
      const at = state.messages.findLastIndex(({ turnId, role }) => role === "agent" && turnId === this.#turnId);
      const reply = state.messages[at];
      return reply === undefined ? state : { ...state, messages: state.messages.with(at, { ...reply, ...change(reply) }) };
    });
  }

  #end(status: "ready" | "failed", error?: ConversationState["error"]): void {
    this.#turnId = undefined;
    this.#store.update(({ messages }) => ({ messages, status, error }));
  }
}
