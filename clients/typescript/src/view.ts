import { lost, type ProblemCode, ProblemError } from "./errors.js";
import type { ChannelFrame, Feed } from "./feed.js";
import type { components } from "./generated/schema.js";
import { applyLive, type ConversationState, hasEnded, type Messages, merge, messageOf, withReply } from "./message.js";
import type { Rest } from "./rest.js";
import { createState, type MutableState } from "./state.js";
import { segment, type Transport } from "./transport.js";

/** The identity of a conversation: its id, such as one of a list, or your own name for it. */
export type ConversationName =
  | { id: string }
  | {
      agentId: string;
      /**
       * Your own name for the conversation. The first message creates it. Choose a random one where
       * several visitors share a token.
       */
      key: string;
      /** The user, for callers that act for several users. */
      userId?: string | undefined;
    };

/** The members of a name, of which those of its kind are present. */
export type NameParts = { [Part in "id" | "agentId" | "key" | "userId"]?: string | undefined };

type Stored = components["schemas"]["Message"];
type Page<Operation extends keyof Rest["conversations"]> = Awaited<ReturnType<Rest["conversations"][Operation]>>;

const reasonIs = (error: unknown, code: ProblemCode): boolean => lost(error).code === code;

/** The number of messages that are loaded. */
const LOADED = 100;

/** The messages of a conversation as they are stored, with their changes by other tabs and devices. */
export interface View {
  readonly shown: MutableState<ConversationState>;
  change(this: void, changed: (messages: Messages) => Messages): void;
  /** The turn whose stream this tab reads. */
  turnId: string | undefined;
  /** Resolves once the turn of the newest request of this tab is known. */
  turnKnown: Promise<void> | undefined;
  /** The number of requests of this tab that have not ended. */
  active: number;
  /** Reads the conversation and its newest messages. */
  read(signal: AbortSignal): Promise<Page<"get"> | undefined>;
  /** Follows the changes of the conversation since it was read; those of the agent until it exists. */
  follow(conversationId: string | undefined, signal: AbortSignal): void;
  unfollow(): void;
  fail(error: unknown): void;
  /** Shows that no request is in progress, or why the newest turn has failed. */
  settle(signal: AbortSignal): Promise<void>;
}

export const createView = (transport: Transport, rest: Rest, feed: Feed, { id, agentId, key, userId }: NameParts): View => {
  const shown = createState<ConversationState>({ messages: [], status: "loading" });
  /** The position of the messages in the log, the channel that is followed from there, and the newest change. */
  let position = 0;
  let followed: string | undefined;
  let stop = () => {};
  let newest: Promise<void> = Promise.resolve();

  const change: View["change"] = (changed) => shown.update((state) => ({ ...state, messages: changed(state.messages) }));

  const show = async (received: ChannelFrame, signal: AbortSignal): Promise<void> => {
    // The turn of a request in progress is shown from its own stream, as soon as it is known.
    await view.turnKnown;
    if (signal.aborted || received.type === "end" || received.type === "caughtUp") return;
    if (received.type === "resync") return void (await view.read(signal));
    if (received.type === "rejected") {
      // Without the scope, the page shows what it sends itself.
      return reasonIs(received.error, "insufficient_scope") ? undefined : view.fail(received.error);
    }
    const { turnId } = received.event as { turnId?: string };
    if (turnId && (turnId === view.turnId || hasEnded(shown.getSnapshot().messages, turnId))) return;
    if (received.type === "live") return change((messages) => applyLive(messages, received.event));
    const { type, data } = received.event;
    if (type === "conversation.created") {
      // It may have been deleted since.
      const { conversation } = data as { conversation?: components["schemas"]["Conversation"] };
      if (conversation && conversation.key === key && (userId ?? conversation.userId) === conversation.userId)
        view.follow(conversation.id, signal);
      return;
    }
    if (!followed?.startsWith("conversation:") || type === "conversation.updated" || type === "turn.queued") return;
    const found = await view.read(signal);
    // While staff handles the conversation, there is no reply.
    if (type === "turn.started" && found?.handledBy !== "staff") change((messages) => withReply(messages, turnId ?? ""));
    if (view.active < 1) await view.settle(signal);
  };

  const view: View = {
    shown,
    change,
    turnId: undefined,
    turnKnown: undefined,
    active: 0,

    async read(signal) {
      const named = id ? { path: `/api/conversations/${segment(id)}` } : { path: "/api/conversations", query: { agentId, key, userId } };
      try {
        const found = await transport.send({ ...named, signal }, async (response): Promise<Page<"get"> | undefined> => {
          // The events since the first of the two reads are followed: the second can show some of them.
          position = Number(response.headers.get("X-Event-Seq"));
          const body = await response.json();
          return id ? body : (body as Page<"list">).data[0];
        });
        const read: Promise<{ data?: Stored[]; greeting?: string | null }> = found
          ? rest.conversations.listMessages(found.id, { order: "desc", limit: LOADED }, { signal })
          : rest.profiles.get(agentId as string, undefined, { signal });
        const { data, greeting } = await read;
        // It will be the first message, once the conversation exists.
        const begun = greeting ? [{ id: agentId, role: "agent", content: greeting } as Stored] : [];
        const stored = (data ?? begun).map(messageOf).reverse();
        change((messages) => merge(stored, messages, view.turnId));
        return found;
      } catch (error) {
        // It was deleted, or never existed.
        if (reasonIs(error, "conversation_not_found")) change(() => []);
        throw error;
      }
    },

    follow(conversationId, signal) {
      const channel = conversationId ? `conversation:${conversationId}` : `agent:${agentId}`;
      if (channel === followed) return;
      view.unfollow();
      followed = channel;
      stop = feed.follow(channel, position, (received) => {
        // The next `load` tries again. A missing scope is not asked for again until the conversation is closed.
        if (received.type === "rejected" && channel === followed && !reasonIs(received.error, "insufficient_scope")) followed = undefined;
        const apply = () => show(received, signal).catch((error: unknown) => (signal.aborted ? undefined : view.fail(error)));
        newest = newest.then(apply);
      });
    },

    unfollow() {
      stop();
      followed = undefined;
    },

    fail(error) {
      shown.update(({ messages }) => ({ messages, status: "failed", error: lost(error) }));
    },

    async settle(signal) {
      const { status, turnId } = shown.getSnapshot().messages.at(-1) ?? {};
      if (status === "failed" && turnId) {
        const { error } = await rest.turns.get(turnId, undefined, { signal });
        if (error) return view.fail(new ProblemError(error));
      }
      shown.update(({ messages }) => ({
        messages,
        status: (["streaming", "requires_action"] as const).find((open) => messages.some(({ status }) => status === open)) ?? "ready",
      }));
    },
  };
  return view;
};
