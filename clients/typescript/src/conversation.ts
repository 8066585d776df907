import { type ChatMessage, streamChat } from "./chat.js";
import { ProblemError } from "./errors.js";
import type { Feed } from "./feed.js";
import { applyPart, type ConversationState, shown, withSending, withUnsent } from "./message.js";
import { Outbox, type Unsent } from "./outbox.js";
import type { Rest } from "./rest.js";
import { defaultStorage, type KeyValueStorage } from "./store.js";
import type { Transport } from "./transport.js";
import { streamTurn, type TurnPart } from "./turn.js";
import { type ConversationName, createView, type View } from "./view.js";

/** Names a conversation. */
export interface ConversationOptions extends ConversationName {
  /** Keeps unsent messages over a reload; `sessionStorage` by default. */
  storage?: KeyValueStorage;
}

/** A conversation with its live state, for user interfaces of any framework. */
export class Conversation {
  readonly #transport: Transport;
  readonly #rest: Rest;
  readonly #options: ConversationOptions;
  readonly #storage: KeyValueStorage;
  readonly #outboxes = new Map<string, Outbox>();
  readonly #view: View;
  #closing = new AbortController();
  #loading: Promise<void> | undefined;
  /** The end of the newest request: requests follow each other. */
  #last: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(transport: Transport, rest: Rest, feed: Feed, options: ConversationOptions) {
    this.#transport = transport;
    this.#rest = rest;
    this.#options = options;
    this.#storage = options.storage ?? defaultStorage();
    this.#view = createView(transport, feed, options);
  }

  /** Returns the current state; the same object until it changes. */
  readonly getSnapshot = (): ConversationState => this.#view.store.getSnapshot();

  /** Calls `listener` after each change. Returns a function that ends this. */
  readonly subscribe = (listener: () => void): (() => void) => this.#view.store.subscribe(listener);

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
    const turnId = this.#view.turnId ?? this.getSnapshot().messages.find(({ status }) => status === "streaming")?.turnId;
    if (turnId !== undefined) await this.#cancel(turnId);
  };

  /** Ends the requests in progress. The turn continues at the service, and `load` resumes it. */
  readonly close = (): void => {
    this.#closing.abort();
    this.#loading = undefined;
    this.#view.unfollow();
  };

  async #cancel(turnId: string): Promise<void> {
    await this.#rest.turns.cancel(turnId).catch((error: unknown) => this.#view.fail(error));
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
    if (this.#closing.signal.aborted) void this.load();
    const { agentId, key: conversationKey, userId } = this.#options;
    const own = part.message === undefined ? {} : { clientMessageId: crypto.randomUUID() };
    const message = { agentId, conversationKey, ...(userId === undefined ? {} : { userId }), ...own, ...part };
    const after = this.getSnapshot().messages.at(-1)?.id;
    const unsent = { message, idempotencyKey: crypto.randomUUID(), after };
    this.#view.store.update((state) => ({
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
    this.#view.active += 1;
    this.#last = this.#last.then(async () => {
      this.#isStopped = false;
      try {
        signal.throwIfAborted();
        await request(signal);
      } catch (error) {
        if (!signal.aborted) this.#view.fail(error);
      } finally {
        this.#view.turnId = undefined;
        this.#view.active -= 1;
      }
    });
    return this.#last;
  }

  async #resume(signal: AbortSignal): Promise<void> {
    const outbox = await this.#outbox();
    let found = await this.#view.read(signal);
    this.#view.follow(found?.id, signal);
    const newest = this.getSnapshot().messages.at(-1)?.id;
    // The conversation has continued without these replacements, or they were received already.
    const outdated = outbox.read().filter(({ message, after }) => message.supersedes && after !== newest);
    for (const unsent of outdated) outbox.remove(unsent);
    for (const { message } of outbox.read()) {
      if (!message.supersedes) this.#view.store.update((state) => ({ ...state, messages: withSending(state.messages, message) }));
    }
    await this.#flush(signal);
    while (found?.openTurns?.length) {
      const request = { method: "GET", path: `/api/conversations/${found.id}/stream`, signal };
      await this.#apply(streamTurn(this.#transport, request, true), undefined, signal);
      found = await this.#view.read(signal);
    }
    const last = this.getSnapshot().messages.at(-1);
    if (this.getSnapshot().status !== "failed" || last?.status !== "failed") this.#view.ready();
  }

  /** Sends a message and shows its turn. A message that was received before is not stored again. */
  async #deliver(unsent: Unsent, outbox: Outbox, signal: AbortSignal): Promise<void> {
    const { message, idempotencyKey } = unsent;
    const before = this.getSnapshot().messages;
    this.#view.store.update(({ messages }) => ({ status: "sending", messages: withSending(messages, message) }));
    try {
      const parts = streamChat(this.#transport, message, { idempotencyKey, signal });
      await this.#apply(parts, message.clientMessageId ?? undefined, signal);
      outbox.remove(unsent);
    } catch (error) {
      // If the store is unavailable, the message may have been stored: it is sent again with its key.
      const isRejected = error instanceof ProblemError && error.code !== "store_unavailable";
      if (isRejected) outbox.remove(unsent);
      if (this.#view.turnId === undefined) {
        this.#view.store.update((state) => ({ ...state, messages: withUnsent(state.messages, message, before, isRejected) }));
      }
      throw error;
    }
  }

  async #apply(parts: AsyncIterable<TurnPart>, sent: string | undefined, signal: AbortSignal): Promise<void> {
    let know = () => {};
    this.#view.isKnown = new Promise((resolve) => (know = resolve));
    try {
      await this.#applyParts(parts, sent, signal, know);
    } finally {
      know();
    }
  }

  async #applyParts(parts: AsyncIterable<TurnPart>, sent: string | undefined, signal: AbortSignal, know: () => void): Promise<void> {
    for await (const part of parts) {
      this.#view.turnId = part.turnId;
      know();
      if (this.#loading && part.conversationId) this.#view.follow(part.conversationId, signal);
      // The message of a queued turn is stored when the turn starts.
      const isKnown = (messageId: string) => this.getSnapshot().messages.some(({ id }) => id === messageId);
      if (part.type === "turn.started" && sent === undefined && !isKnown(part.messageId)) await this.#view.read(signal);
      const status = part.type === "turn.queued" ? "sending" : "streaming";
      this.#view.store.update(({ messages }) => ({ status, messages: applyPart(messages, part, sent) }));
      if (part.type === "turn.failed") return this.#view.fail(new ProblemError(part.error));
      if (this.#isStopped) {
        this.#isStopped = false;
        await this.#cancel(part.turnId);
      }
    }
    this.#view.turnId = undefined;
    this.#view.ready();
  }
}
