import { ProblemError, reasonOf } from "./errors.js";
import type { Feed, Received } from "./feed.js";
import { applyLive, type ConversationState, hasEnded, merge, messageOf, withReply } from "./message.js";
import type { Rest } from "./rest.js";
import { createStore, type Store } from "./store.js";
import type { Transport } from "./transport.js";

/** The identity of a conversation. */
export interface ConversationName {
  agentId: string;
  /**
   * Your own name for the conversation. The first message creates it. Choose a random one where
   * several visitors share a token.
   */
  key: string;
  /** The user, for callers that act for several users. */
  userId?: string | undefined;
}

type Page<Operation extends keyof Rest["conversations"]> = Awaited<ReturnType<Rest["conversations"][Operation]>>;

/** The number of messages that are loaded. */
const LOADED = 100;

/** The messages of a conversation as they are stored, with their changes by other tabs and devices. */
export interface View {
  readonly store: Store<ConversationState>;
  /** The turn whose stream this tab reads. */
  turnId: string | undefined;
  /** Resolves once the turn of the newest request of this tab is known. */
  turnKnown: Promise<void> | undefined;
  /** The number of requests of this tab that have not ended. */
  active: number;
  /** Reads the conversation and its newest messages. */
  read(signal: AbortSignal): Promise<Page<"get"> | undefined>;
  /** Follows the changes of the conversation since it was read; those of the agent until it exists. */
  follow(id: string | undefined, signal: AbortSignal): void;
  unfollow(): void;
  fail(error: unknown): void;
  ready(): void;
}

export const createView = (transport: Transport, rest: Rest, feed: Feed, { agentId, key, userId }: ConversationName): View => {
  const store = createStore<ConversationState>({ messages: [], status: "loading" });
  /** The position of the messages in the log, the channel that is followed from there, and the newest change. */
  let position = 0;
  let followed: string | undefined;
  let stop = () => {};
  let newest: Promise<void> = Promise.resolve();

  const show = async (received: Received, signal: AbortSignal): Promise<void> => {
    // The turn of a request in progress is shown from its own stream, as soon as it is known.
    await view.turnKnown;
    if (signal.aborted || received.type === "end" || received.type === "caughtUp") return;
    if (received.type === "resync") return void (await view.read(signal));
    if (received.type === "rejected") {
      // Without the scope, the page shows what it sends itself.
      return "code" in received.error && received.error.code === "insufficient_scope" ? undefined : view.fail(received.error);
    }
    const turnId = "turnId" in received.event ? received.event.turnId : undefined;
    const { messages } = store.getSnapshot();
    const isShown = turnId !== undefined && hasEnded(messages, turnId);
    const isFailure = received.type === "event" && received.event.type === "turn.failed" && messages.at(-1)?.turnId === turnId;
    // A read after an earlier event can show the failure of the newest turn, but not the reason.
    if ((turnId && turnId === view.turnId) || (isShown && !isFailure)) return;
    if (received.type === "live") {
      return store.update((state) => ({ ...state, messages: applyLive(state.messages, received.event) }));
    }
    const { type, data } = received.event;
    if (type === "conversation.created" && "conversation" in data && "key" in data.conversation) {
      const { conversation } = data;
      if (conversation.key === key && (userId ?? conversation.userId) === conversation.userId) view.follow(conversation.id, signal);
      return;
    }
    if (!followed?.startsWith("conversation:") || type === "conversation.updated" || type === "turn.queued") return;
    if (!isShown) await view.read(signal);
    if (type === "turn.started") store.update((state) => ({ ...state, messages: withReply(state.messages, turnId ?? "") }));
    if (view.active > 0) return;
    if (type === "turn.failed" && "turn" in data && "error" in data.turn && data.turn.error) view.fail(new ProblemError(data.turn.error));
    else view.ready();
  };

  const view: View = {
    store,
    turnId: undefined,
    turnKnown: undefined,
    active: 0,

    async read(signal) {
      const request = { method: "GET", path: "/api/conversations", query: { agentId, key, userId }, signal };
      const { data } = await transport.send(request, async (response) => {
        // The events since the first of the two reads are followed: the second can show some of them.
        position = Number(response.headers.get("X-Event-Seq"));
        return (await response.json()) as Page<"list">;
      });
      const page = data[0] && (await rest.conversations.listMessages(data[0].id, { order: "desc", limit: LOADED }, { signal }));
      const stored = (page?.data ?? []).map(messageOf).reverse();
      store.update((state) => ({ ...state, messages: merge(stored, state.messages) }));
      return data[0];
    },

    follow(id, signal) {
      const channel = id ? `conversation:${id}` : `agent:${agentId}`;
      if (channel === followed) return;
      view.unfollow();
      followed = channel;
      stop = feed.follow(channel, position, (received) => {
        // The next `load` tries again.
        if (received.type === "rejected" && channel === followed) followed = undefined;
        const apply = () => show(received, signal).catch((error: unknown) => (signal.aborted ? undefined : view.fail(error)));
        newest = newest.then(apply);
      });
    },

    unfollow() {
      stop();
      followed = undefined;
    },

    fail(error) {
      store.update(({ messages }) => ({ messages, status: "failed", error: reasonOf(error) }));
    },

    ready() {
      store.update(({ messages }) => {
        const isGenerated = messages.some(({ status }) => status === "streaming");
        return { messages, status: isGenerated ? "streaming" : "ready" };
      });
    },
  };
  return view;
};
