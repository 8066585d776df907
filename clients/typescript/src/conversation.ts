import { type ChatMessage, streamChat } from "./chat.js";
import type { Conversation, ConversationOptions, FileOptions, PageTools } from "./conversation-types.js";
import { lost, ProblemError } from "./errors.js";
import type { Feed } from "./feed.js";
import type { components } from "./generated/schema.js";
import { loadFiles } from "./lazy-files.js";
import {
  applyPart,
  type ConversationState,
  changeSent,
  fileOf,
  hasContent,
  type Messages,
  type OwnMessage,
  type ToolCall,
  withSending,
} from "./message.js";
import { createOutbox, type Unsent } from "./outbox.js";
import { randomId } from "./random-id.js";
import type { Rest } from "./rest.js";
import { segment, type Transport } from "./transport.js";
import { followTurn, streamTurn, type TurnPart } from "./turn.js";
import { createView, type NameParts } from "./view.js";

/** The answer to a tool call. */
type Answer = components["schemas"]["ActionItem"];

/** The attempt whose pause precedes that in which messages that could not be sent are sent again: about six seconds. */
const ATTEMPT = 5;

/**
 * Returns true if the service may have accepted a message, with this or an earlier request: the
 * credential, the limits and the load of the service are checked before the key of the message. A limit
 * that holds for longer than a minute rejects it.
 */
const isUncertain = (error: unknown): boolean =>
  !(error instanceof ProblemError) || error.status >= 500 || [401, 403, 408, error.retryable && 429].includes(error.status);

/**
 * The files of messages that were not sent yet, by the ids of the messages. They are those of the page, since a
 * conversation that was left can be opened again before their upload has ended.
 */
const attached = new Map<ChatMessage["clientMessageId"], OwnMessage["files"]>();

/** Shows a message that is being sent. A replacement is shown when the service has accepted it. */
const withNew = (messages: Messages, message: OwnMessage): Messages => (message.supersedes ? messages : withSending(messages, message));

export const createConversation = (transport: Transport, rest: Rest, feed: Feed, options: ConversationOptions): Conversation => {
  const name: NameParts = options;
  const { id, agentId, key, userId } = name;
  if (!id && !(agentId && key)) throw new TypeError("`id`, or `agentId` and `key`, are missing");
  const outbox = createOutbox(() => options.storage ?? globalThis.sessionStorage);
  const view = createView(transport, rest, feed, name);
  const { shown, change, proceed } = view;
  const { subscribe, getSnapshot: getWhole } = shown;
  /** The newest state, and what pages see of it: a reply only once it has begun. */
  let newest: ConversationState | undefined;
  let visible = getWhole();
  const getSnapshot = (): ConversationState => {
    const state = getWhole();
    if (state !== newest) visible = { ...(newest = state), messages: state.messages.filter(hasContent) };
    return visible;
  };
  let closing = new AbortController();
  let loading: Promise<void> | undefined;
  /** The end of the newest request: requests follow each other. */
  let last: Promise<void> = Promise.resolve();
  /** The messages that the service has rejected, by their ids. */
  const rejected = new Map<ChatMessage["clientMessageId"], OwnMessage>();
  let tools: PageTools = {};
  /** The calls of tools of the page that were noticed since the conversation was loaded, and the outcomes of all. */
  const noticed = new Set<string>();
  const outcomes = new Map<string, Promise<Answer>>();
  /** Aborted to end an upload, and to cancel the turn as soon as it is known. */
  let stopping = new AbortController();
  /** The conversation, for a message, and for the place where it is kept. */
  const target = id ? { conversationId: id } : { agentId, conversationKey: key, userId };
  const owner = id ? [id] : [agentId, userId, key];

  const cancel = (turnId: string): Promise<unknown> => rest.turns.cancel(turnId).catch(view.fail);

  /** Runs a request after the earlier ones, until the conversation is closed. Shows why it failed. */
  const enqueue = (request: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    const { signal } = closing;
    view.active += 1;
    last = last.then(async () => {
      try {
        signal.throwIfAborted();
        outbox.open([...(await transport.identity(signal)), ...owner]);
        await request(signal);
      } catch (error) {
        view.fail(error, signal);
        // An open conversation tries again until the service can be reached.
        if (isUncertain(error) && loading && view.active < 2) {
          transport.pause(ATTEMPT, error, signal, Infinity).then(
            (isRepeated) => {
              // Changes by others may have ended the status `failed`.
              loading = undefined;
              if (isRepeated) void load();
            },
            () => {},
          );
        }
      }
      view.turnId = undefined;
      view.active -= 1;
      stopping = new AbortController();
    });
    return last;
  };

  /** Shows the turn of a message, or one that was found. */
  const apply = async (parts: AsyncIterable<TurnPart>, message: OwnMessage | undefined, signal: AbortSignal): Promise<void> => {
    let resolveTurn = () => {};
    view.turnKnown = new Promise((resolve) => (resolveTurn = resolve));
    try {
      for await (const part of parts) {
        view.turnId = part.turnId;
        resolveTurn();
        view.known = part.conversationId ?? view.known;
        if (loading && view.known) view.follow(view.known, signal);
        // The message of a queued turn is stored when the turn starts, which dismisses what waits for answers.
        const isStale =
          part.type === "turn.started" &&
          (getWhole().messages.some(({ status, turnId }) => status === "requires_action" && turnId !== part.turnId) ||
            !(message || getWhole().messages.some(({ id }) => id === part.messageId)));
        if (isStale) await view.read(signal);
        proceed(part.type === "turn.queued" ? "sending" : "streaming", (messages) =>
          applyPart(message ? withSending(messages, message) : messages, part, message?.clientMessageId),
        );
        if (part.type === "turn.failed") return view.fail(new ProblemError(part.error));
        if (stopping.signal.aborted) {
          stopping = new AbortController();
          await cancel(part.turnId);
        }
      }
      view.turnId = undefined;
      await view.settle(signal);
    } finally {
      resolveTurn();
    }
  };

  /** Uploads the files of a message that are not uploaded yet. */
  const uploadFiles = async (unsent: Unsent, signal: AbortSignal): Promise<void> => {
    const { message, idempotencyKey } = unsent;
    const files = attached.get(message.clientMessageId) ?? message.files;
    if (!files?.some(({ id }) => !id)) return;
    const { uploadAll } = await loadFiles();
    await uploadAll(transport, files, {
      show(files) {
        attached.set(message.clientMessageId, (message.files = files));
        change((messages) => changeSent(messages, message.clientMessageId, { files }));
      },
      stopping,
      lost,
      ProblemError,
      idempotencyKey,
      signal,
    });
    outbox.update(unsent);
  };

  /** Sends a message and shows its turn. A message that was received before is not stored again. */
  const deliver = async (unsent: Unsent, signal: AbortSignal): Promise<void> => {
    const { message, idempotencyKey } = unsent;
    proceed("sending", (messages) => withNew(messages, message));
    try {
      await uploadFiles(unsent, signal);
      await apply(streamChat(transport, message, { idempotencyKey, signal }), message, signal);
      attached.delete(message.clientMessageId);
      outbox.remove(unsent);
    } catch (error) {
      // It is sent again with its key, unless it was rejected.
      if (!isUncertain(error)) {
        outbox.remove(unsent);
        rejected.set(message.clientMessageId, message);
        change((messages) => changeSent(messages, message.clientMessageId, { status: "failed", error: lost(error) }));
      }
      throw error;
    }
  };

  /** Sends the kept messages in their order. */
  const flush = async (signal: AbortSignal): Promise<void> => {
    for (const unsent of outbox.read()) await deliver(unsent, signal);
  };

  const start = async ({ files: given, ...part }: Omit<Partial<OwnMessage>, "files"> & FileOptions): Promise<void> => {
    feed.type(view.known, false);
    if (closing.signal.aborted) void load();
    const message = { ...target, clientMessageId: part.message == null ? undefined : randomId(), ...part } as OwnMessage;
    const { clientMessageId } = message;
    const files = attached.get(clientMessageId) ?? given?.map(fileOf);
    if (files?.length) attached.set(clientMessageId, (message.files = files));
    const unsent = { message, idempotencyKey: randomId(), after: getSnapshot().messages.at(-1)?.id };
    const { status } = getSnapshot();
    proceed(/ing$/.test(status) ? status : "sending", (messages) => withNew(messages, message));
    // Kept before it is sent, so that it is sent once even if the page is reloaded meanwhile.
    outbox.add(unsent);
    await enqueue(flush);
  };

  /** Follows the turns in progress to their end. One that waits for answers is shown as it was read. */
  const followOpen = async (found: Awaited<ReturnType<typeof view.read>>, signal: AbortSignal): Promise<void> => {
    while (found?.openTurns?.length && found.openTurns.every(({ status }) => status !== "requires_action")) {
      await apply(followTurn(transport, found.id, signal), undefined, signal);
      found = await view.read(signal);
    }
  };

  /** Shows what has happened meanwhile. */
  const catchUp = async (signal: AbortSignal): Promise<void> => {
    await followOpen(await view.read(signal), signal);
    await view.settle(signal);
  };

  const resume = async (signal: AbortSignal): Promise<void> => {
    const { error } = getSnapshot();
    const found = await view.read(signal);
    view.follow(found?.id, signal);
    const newest = getSnapshot().messages.at(-1)?.id;
    for (const unsent of outbox.read()) {
      // The conversation has continued without this replacement, or it was received already.
      if (unsent.message.supersedes && unsent.after !== newest) outbox.remove(unsent);
      else change((messages) => withNew(messages, unsent.message));
    }
    await flush(signal);
    await followOpen(found, signal);
    // Unless a turn has failed meanwhile.
    if (getSnapshot().error === error) await view.settle(signal);
  };

  const load = (): Promise<void> => {
    if (closing.signal.aborted) closing = new AbortController();
    if (getSnapshot().status === "failed") loading = undefined;
    if (!loading) noticed.clear();
    loading ??= enqueue(resume);
    return loading;
  };

  /** Loads the conversation again, unless a request is in progress. */
  const reload = (): Promise<void> => {
    if (!view.active) loading = undefined;
    return load();
  };

  /** Answers a tool call, and shows how its turn goes on. */
  const answer = (action: Answer): Promise<void> =>
    enqueue(async (signal) => {
      const isMeant = ({ id, needs }: ToolCall) => needs && id === action.callId;
      const { turnId } = getSnapshot().messages.find(({ toolCalls }) => toolCalls.some(isMeant)) ?? {};
      if (turnId) {
        proceed("sending");
        const path = `/api/turns/${segment(turnId)}/actions`;
        const headers = { Accept: "text/event-stream" };
        const post = (sent: Answer): Promise<void> => {
          // The same answer again changes nothing, so the request can be repeated.
          const request = { method: "POST", path, headers, body: { actions: [sent] }, idempotencyKey: sent.callId, signal };
          return apply(streamTurn(transport, request, true), undefined, signal);
        };
        await post(action).catch((error: unknown) => {
          const { code, status, message } = error as Partial<ProblemError>;
          // Such as one that is too large.
          if ("output" in action && (status === 413 || status === 422)) return post({ callId: action.callId, error: message });
          // Somebody else has answered, or it is too late.
          if (!code?.startsWith("action_")) throw error;
        });
        await catchUp(signal);
      }
    });

  const outcomeOf = async ({ id: callId, name, arguments: given }: ToolCall): Promise<Answer> => {
    try {
      // What is no JSON is an error of the function.
      return { callId, output: JSON.parse(JSON.stringify(await tools[name]?.(given)) ?? "null") };
    } catch (error) {
      return { callId, error: String((error as Error | undefined)?.message ?? error) };
    }
  };

  /** Calls a tool of the page, unless another tab has answered, and sends the outcome. */
  const callTool = async (turnId: string, call: ToolCall): Promise<void> => {
    const { signal } = closing;
    const run = async (): Promise<void> => {
      let isWaiting = false;
      await enqueue(async (signal) => {
        const { toolCalls } = await rest.turns.get(turnId, undefined, { signal });
        isWaiting = toolCalls.some(({ id, needs }) => needs && id === call.id);
        if (!isWaiting) await catchUp(signal);
      });
      if (!isWaiting) return;
      const outcome = outcomes.get(call.id) ?? outcomeOf(call);
      outcomes.set(call.id, outcome);
      await answer(await outcome);
    };
    const locks = globalThis.navigator?.locks;
    // A page that may not use locks is on its own.
    await (locks ? locks.request(`agent-service:${call.id}`, { signal }, run).catch(() => (signal.aborted ? undefined : run())) : run());
  };

  const callTools = (): void => {
    for (const { status, turnId, toolCalls } of getSnapshot().messages) {
      for (const call of toolCalls) {
        if (status !== "requires_action" || !turnId || call.needs !== "output" || !Object.hasOwn(tools, call.name)) continue;
        if (noticed.has(call.id)) continue;
        noticed.add(call.id);
        void callTool(turnId, call);
      }
    }
  };
  subscribe(callTools);

  /** Decides about a tool call. */
  const decide = (action: Answer): Promise<void> => {
    if (closing.signal.aborted) void load();
    return answer(action);
  };

  const edit: Conversation["edit"] = (id, text, options) =>
    start({ message: text, supersedes: id, files: options?.files ?? getWhole().messages.find((known) => known.id === id)?.files });

  return {
    getSnapshot,
    subscribe,
    load,
    async loadOlder() {
      const { signal } = closing;
      // What was missed is read first, which ends the status `failed`.
      if (view.isUnread) await reload();
      if (!view.isUnread) await view.readOlder(signal);
    },
    edit,
    send: (text, more) => start({ ...more, message: text }),
    async regenerate(id) {
      const { messages } = getSnapshot();
      const newest = messages.findLast((known) => (id ? known.id === id : !known.author));
      // Something was not read, or a message is kept that may have arrived or not.
      if (!newest || view.isUnread || newest.status === "sending" || (!view.active && outbox.read().length)) return reload();
      const { role, text, turnId } = newest;
      if (role === "agent" && newest.status !== "failed") return start({ supersedes: newest.id });
      if (!turnId) {
        // The service has rejected it.
        change((known) => known.filter((message) => message !== newest));
        return start(rejected.get(newest.id) ?? { message: text, files: newest.files });
      }
      // A failed reply is not stored, so its message is sent again in its place.
      const sent = messages.find((known) => known.role === "user" && known.turnId === turnId);
      return sent && edit(sent.id, sent.text);
    },
    async stop() {
      const turnId = view.turnId ?? getWhole().messages.find(({ status }) => /streaming|requires/.test(status))?.turnId;
      if (turnId) await cancel(turnId);
      else if (view.active) stopping.abort();
      // No stream shows the end of a turn that waits for answers.
      if (turnId && getSnapshot().status === "requires_action") await enqueue(catchUp);
    },
    approve: (callId) => decide({ callId, decision: "approve" }),
    deny: (callId, reason) => decide({ callId, decision: "deny", reason: reason || undefined } as Answer),
    async rate(messageId, rating, comment) {
      const { conversations } = rest;
      const known = view.known as string;
      await (rating
        ? conversations.rateMessage(known, messageId, { rating, comment, userId })
        : conversations.deleteFeedback(known, messageId, { userId }));
      await view.read(closing.signal);
    },
    setTyping: (isTyping) => feed.type(view.known, isTyping),
    setTools(given) {
      tools = given;
      callTools();
    },
    close() {
      closing.abort();
      loading = undefined;
      view.unfollow();
    },
  };
};
