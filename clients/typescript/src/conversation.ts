import { type ChatMessage, streamChat } from "./chat.js";
import { ConnectionError, ProblemError } from "./errors.js";
import { applyPart, type ConversationMessage, type ConversationState, shown } from "./message.js";
import { Outbox, type Unsent } from "./outbox.js";
import type { Rest } from "./rest.js";
import { defaultStorage, type KeyValueStorage, Store } from "./store.js";
import type { Transport } from "./transport.js";
import { streamTurn, type TurnPart } from "./turn.js";

/** Names a conversation. */
export interface ConversationOptions {
  agentId: string;
  /**
   * Your own name for the conversation. The first message creates it. Choose a random one where
   * several visitors share a token.
   */
  key: string;
  /** The user, for callers that act for several users. */
  userId?: string;
  /** Keeps unsent messages over a reload; `sessionStorage` by default. */
  storage?: KeyValueStorage;
}

/** The number of messages that are loaded. */
const LOADED = 100;

/** A conversation with its live state, for user interfaces of any framework. */
export class Conversation {
  readonly #transport: Transport;
  readonly #rest: Rest;
  readonly #options: ConversationOptions;
  readonly #storage: KeyValueStorage;
  readonly #store = new Store<ConversationState>({ messages: [], status: "loading" });
  readonly #outboxes = new Map<string, Outbox>();
  #closing = new AbortController();
  #loading: Promise<void> | undefined;
  /** The end of the newest request: requests follow each other. */
  #last: Promise<void> = Promise.resolve();
  #turnId: string | undefined;
  #isStopped = false;

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
   * Reads the messages, sends those that a reload has interrupted, and follows the replies in
   * progress to their end. Further calls do nothing until `close`, unless it has failed.
   */
  readonly load = (): Promise<void> => {
    if (this.#closing.signal.aborted) this.#closing = new AbortController();
    this.#loading ??= this.#enqueue((signal) => this.#resume(signal)).then(() => {
      if (this.getSnapshot().status === "failed") this.#loading = undefined;
    });
    return this.#loading;
  };

  /** Sends a message, after the turns of earlier ones; resolves at the end of its turn. */
  readonly send = (text: string): Promise<void> => this.#start({ message: text });

  /** Replaces a message of the user, and all later messages. */
  readonly edit = (id: string, text: string): Promise<void> => this.#start({ message: text, supersedes: id });

  /** Generates the newest reply, or the reply with this id, again; answers a message that has failed. */
  readonly regenerate = (id?: string): Promise<void> => {
    const newest = this.getSnapshot().messages.findLast((known) => id === undefined || known.id === id);
    if (newest === undefined) return Promise.resolve();
    if (newest.role === "agent" && newest.status !== "failed") return this.#start({ supersedes: newest.id });
    // A failed reply is not stored, so its message is sent again in its place.
    const sent = this.getSnapshot().messages.find(({ role, turnId }) => role === "user" && turnId === newest.turnId);
    return sent === undefined ? Promise.resolve() : this.edit(sent.id, sent.text);
  };

  /** Cancels the turn in progress, or the one that is being started. */
  readonly stop = async (): Promise<void> => {
    this.#isStopped = true;
    if (this.#turnId !== undefined) await this.#cancel(this.#turnId);
  };

  /** Ends the requests in progress. The turn continues at the service, and `load` resumes it. */
  readonly close = (): void => {
    this.#closing.abort();
    this.#loading = undefined;
  };

  async #cancel(turnId: string): Promise<void> {
    await this.#rest.turns.cancel(turnId).catch((error: unknown) => this.#fail(error));
  }

  /** Returns the messages of the current principal that are not known to be received. */
  async #outbox(): Promise<Outbox> {
    const { agentId, key, userId = "" } = this.#options;
    const owner = [...(await this.#transport.identity()), agentId, userId, key];
    const known = this.#outboxes.get(owner.join("\n")) ?? new Outbox(this.#storage, owner);
    this.#outboxes.set(owner.join("\n"), known);
    return known;
  }

  async #start(part: Partial<ChatMessage>): Promise<void> {
    const { agentId, key: conversationKey, userId } = this.#options;
    const own = part.message === undefined ? {} : { clientMessageId: crypto.randomUUID() };
    const message = { agentId, conversationKey, ...(userId === undefined ? {} : { userId }), ...own, ...part };
    const after = this.getSnapshot().messages.at(-1)?.id;
    const unsent = { message, idempotencyKey: crypto.randomUUID(), after };
    this.#store.update((state) => ({
      status: state.status === "ready" || state.status === "failed" ? "sending" : state.status,
      // A replacement is shown when it is sent, since earlier turns may still change what it replaces.
      messages: message.supersedes ? state.messages : withSending(state.messages, message),
    }));
    // Kept before it is sent, so that it is sent once even if the page is reloaded meanwhile.
    const isKept = this.#outbox().then((outbox) => outbox.add(unsent));
    await this.#enqueue(async (signal) => {
      await isKept;
      await this.#flush(signal);
    });
  }

  /** Sends the kept messages in their order. */
  async #flush(signal: AbortSignal): Promise<void> {
    const outbox = await this.#outbox();
    for (const unsent of outbox.read()) await this.#deliver(unsent, outbox, signal);
  }

  /** Runs a request after the earlier ones, until the conversation is closed. Shows why it failed. */
  #enqueue(request: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    this.#last = this.#last.then(async () => {
      this.#isStopped = false;
      try {
        signal.throwIfAborted();
        await request(signal);
      } catch (error) {
        if (!signal.aborted) this.#fail(error);
      } finally {
        this.#turnId = undefined;
      }
    });
    return this.#last;
  }

  #fail(error: unknown): void {
    const lost = error instanceof ConnectionError ? error : new ConnectionError(String(error), { cause: error });
    const reason = error instanceof ProblemError ? error.problem : lost;
    this.#store.update(({ messages }) => ({ messages, status: "failed", error: reason }));
  }

  async #resume(signal: AbortSignal): Promise<void> {
    const outbox = await this.#outbox();
    let found = await this.#read(signal);
    const newest = this.getSnapshot().messages.at(-1)?.id;
    // The conversation has continued without these replacements, or they were received already.
    const outdated = outbox.read().filter(({ message, after }) => message.supersedes && after !== newest);
    for (const unsent of outdated) outbox.remove(unsent);
    for (const { message } of outbox.read()) {
      if (!message.supersedes) this.#store.update((state) => ({ ...state, messages: withSending(state.messages, message) }));
    }
    await this.#flush(signal);
    while (found?.openTurns?.length) {
      const request = { method: "GET", path: `/api/conversations/${found.id}/stream`, signal };
      await this.#apply(streamTurn(this.#transport, request, true), undefined, signal);
      found = await this.#read(signal);
    }
    const last = this.getSnapshot().messages.at(-1);
    if (this.getSnapshot().status !== "failed" || last?.status !== "failed") this.#ready();
  }

  /** Reads the conversation and its newest messages. */
  async #read(signal: AbortSignal) {
    const { agentId, key, userId } = this.#options;
    const query = { agentId, key, ...(userId === undefined ? {} : { userId }) };
    const found = (await this.#rest.conversations.list(query, { signal })).data[0];
    if (found === undefined) return undefined;
    const page = await this.#rest.conversations.listMessages(found.id, { order: "desc", limit: LOADED }, { signal });
    this.#store.update((state) => ({ ...state, messages: page.data.map(shown).reverse() }));
    return found;
  }

  /** Sends a message and shows its turn. A message that was received before is not stored again. */
  async #deliver(unsent: Unsent, outbox: Outbox, signal: AbortSignal): Promise<void> {
    const { message, idempotencyKey } = unsent;
    const before = this.getSnapshot().messages;
    this.#store.update(({ messages }) => ({ status: "sending", messages: withSending(messages, message) }));
    try {
      const parts = streamChat(this.#transport, message, { idempotencyKey, signal });
      await this.#apply(parts, message.clientMessageId ?? undefined, signal);
      outbox.remove(unsent);
    } catch (error) {
      // If the store is unavailable, the message may have been stored: it is sent again with its key.
      if (error instanceof ProblemError && error.code !== "store_unavailable") {
        // It was not received, so nothing was replaced.
        outbox.remove(unsent);
        const { supersedes, clientMessageId } = message;
        this.#store.update((state) => ({ ...state, messages: supersedes ? before : failed(state.messages, clientMessageId) }));
      }
      throw error;
    }
  }

  async #apply(parts: AsyncIterable<TurnPart>, sent: string | undefined, signal: AbortSignal): Promise<void> {
    for await (const part of parts) {
      this.#turnId = part.turnId;
      // The message of a queued turn is stored when the turn starts.
      const isKnown = (messageId: string) => this.getSnapshot().messages.some(({ id }) => id === messageId);
      if (part.type === "turn.started" && sent === undefined && !isKnown(part.messageId)) await this.#read(signal);
      const status = part.type === "turn.queued" ? "sending" : "streaming";
      this.#store.update(({ messages }) => ({ status, messages: applyPart(messages, part, sent) }));
      if (part.type === "turn.failed") return this.#fail(new ProblemError(part.error));
      if (this.#isStopped) {
        this.#isStopped = false;
        await this.#cancel(part.turnId);
      }
    }
    this.#turnId = undefined;
    this.#ready();
  }

  #ready(): void {
    this.#store.update(({ messages }) => ({ messages, status: "ready" }));
  }
}

/** Returns the messages with one that is being sent in its place. */
const withSending = (messages: readonly ConversationMessage[], message: ChatMessage): readonly ConversationMessage[] => {
  const { message: text, clientMessageId, supersedes } = message;
  const at = supersedes ? messages.findIndex(({ id }) => id === supersedes) : -1;
  const before = at < 0 ? messages : messages.slice(0, at);
  if (text === undefined || !clientMessageId || before.some((known) => known.clientMessageId === clientMessageId)) return before;
  return [...before, { id: clientMessageId, clientMessageId, role: "user", text, status: "sending", toolCalls: [] }];
};

/** Marks a message as not sent. */
const failed = (messages: readonly ConversationMessage[], clientMessageId: string | null | undefined): readonly ConversationMessage[] =>
  messages.map((known) => (clientMessageId && known.clientMessageId === clientMessageId ? { ...known, status: "failed" } : known));
