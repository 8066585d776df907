import { lost, type ProblemCode, ProblemError, type ServiceError } from "./errors.js";
import type { LogEvent } from "./events.js";
import type { ChannelFrame, Feed } from "./feed.js";
import type { components } from "./generated/schema.js";
import {
  applyLive,
  type ConversationMessage,
  type ConversationState,
  changeSent,
  hasEnded,
  type Messages,
  merge,
  messageOf,
  now,
  withReply,
} from "./message.js";
import type { Rest } from "./rest.js";
import { createState, type MutableState } from "./state.js";
import { segment, type Transport } from "./transport.js";
import { isLast } from "./turn.js";

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

/** The number of messages of a page. */
const PAGE = 100;

/** The time in milliseconds after which a report that somebody types is over, unless it is repeated. */
const TYPING = 6_000;

const oldestFirst = (listed: Stored[]): ConversationMessage[] => listed.map(messageOf).reverse();

/** The messages of a conversation as they are stored, with their changes by other tabs and devices. */
export interface View {
  readonly shown: MutableState<ConversationState>;
  change(this: void, changed: (messages: Messages) => Messages): void;
  /** Changes the status and the messages; what has failed before is over. */
  proceed(this: void, status: ConversationState["status"], changed?: (messages: Messages) => Messages, error?: ServiceError): void;
  /** The id of the conversation, once it is known. */
  known: string | undefined;
  /** The turn whose stream this tab reads. */
  turnId: string | undefined;
  /** Resolves once the turn of the newest request of this tab is known. */
  turnKnown: Promise<void> | undefined;
  /** The number of requests of this tab that have not ended. */
  active: number;
  /** True if the newest attempt to read something has failed. */
  isUnread: boolean;
  /** Reads the conversation with the messages that are shown, or only with its newest page of them. */
  read(signal: AbortSignal, isNewest?: boolean): Promise<Page<"get"> | undefined>;
  /** Reads the page of messages before those that are shown. */
  readOlder(signal: AbortSignal): Promise<void>;
  /** Follows the changes of the conversation since it was read; those of the agent until it exists. */
  follow(conversationId: string | undefined, signal: AbortSignal): void;
  unfollow(): void;
  /** Shows an error, unless the conversation was closed. */
  fail(error: unknown, signal?: AbortSignal): void;
  /** Shows that no request is in progress, or why the newest turn has failed. */
  settle(signal: AbortSignal): Promise<void>;
}

export const createView = (transport: Transport, rest: Rest, feed: Feed, { id, agentId, key, userId }: NameParts): View => {
  const shown = createState<ConversationState>({ messages: [], hasOlder: false, status: "loading" });
  /** The position of the messages in the log, the channel that is followed from there, and the newest change. */
  let position = 0;
  let followed: string | undefined;
  let stop = () => {};
  let newest: Promise<void> = Promise.resolve();
  /** The cursor of the messages before those that are shown, and the end of the newest read. */
  let cursor: string | null | undefined;
  let reading: Promise<unknown> = Promise.resolve();
  let typingEnd: ReturnType<typeof setTimeout> | undefined;

  const change: View["change"] = (changed) =>
    shown.update((state) => ({ ...state, messages: changed(state.messages), hasOlder: !!cursor }));
  const proceed: View["proceed"] = (status, changed = (messages) => messages, error) =>
    shown.update((state) => ({ ...state, messages: changed(state.messages), status, error }));

  const showTyping = (typing?: string): void => {
    clearTimeout(typingEnd);
    shown.update((state) => ({ ...state, typing }));
    if (typing) typingEnd = setTimeout(showTyping, TYPING);
  };

  /** Reads after the earlier reads, whose older state must not replace a newer one. */
  const inOrder = <Result>(read: () => Promise<Result>): Promise<Result> => {
    const result = reading.then(read);
    reading = result.then(
      () => (view.isUnread = false),
      () => (view.isUnread = true),
    );
    return result;
  };

  /** Returns messages before a cursor, the newest first. */
  const readPage = (limit: number, before: string | null | undefined, signal: AbortSignal) =>
    rest.conversations.listMessages(view.known as string, { order: "desc", limit, cursor: before as string | undefined }, { signal });

  const readShown = async (signal: AbortSignal, isNewest: boolean | undefined) => {
    const named = id ? { path: `/api/conversations/${segment(id)}` } : { path: "/api/conversations", query: { agentId, key, userId } };
    try {
      const found = await transport.send({ ...named, signal }, async (response): Promise<Page<"get"> | undefined> => {
        // The events since the first read are followed: the others can show some of them.
        position = Number(response.headers.get("X-Event-Seq"));
        const body = await response.json();
        return id ? body : (body as Page<"list">).data[0];
      });
      view.known = found?.id;
      const listed: Stored[] = [];
      let next: string | null | undefined;
      if (found) {
        let left = isNewest ? PAGE : Math.max(PAGE, shown.getSnapshot().messages.length);
        do {
          const page = await readPage(Math.min(left, PAGE), next, signal);
          next = page.nextCursor;
          listed.push(...page.data);
          left -= PAGE;
        } while (next && left > 0);
      } else {
        const { greeting } = await rest.profiles.get(agentId as string, undefined, { signal });
        // It will be the first message, once the conversation exists.
        if (greeting) listed.push({ id: agentId, role: "agent", content: greeting, createdAt: now() } as Stored);
      }
      change((messages) => {
        // Older messages stay, unless so many are new that some between are unknown.
        const at = messages.findIndex((message) => message.id === listed.at(-1)?.id);
        if (at < 1) cursor = next;
        return merge([...messages.slice(0, at < 1 ? 0 : at), ...oldestFirst(listed)], messages, view.turnId);
      });
      return found;
    } catch (error) {
      // It was deleted, or never existed.
      if (reasonIs(error, "conversation_not_found")) {
        cursor = undefined;
        change(() => []);
      }
      throw error;
    }
  };

  const show = async (received: ChannelFrame, signal: AbortSignal): Promise<void> => {
    // The turn of a request in progress is shown from its own stream, as soon as it is known.
    await view.turnKnown;
    if (signal.aborted || received.type === "end" || received.type === "caughtUp") return;
    if (received.type === "resync") return void (await view.read(signal));
    if (received.type === "rejected") {
      // Without the scope, the page shows what it sends itself.
      return reasonIs(received.error, "insufficient_scope") ? undefined : view.fail(received.error);
    }
    const { turnId, type, data } = received.event as LogEvent & { turnId?: string; data: { message?: Partial<Stored> | null } };
    const { createdAt, clientMessageId } = data?.message ?? {};
    // The message of this tab, which is not read again.
    if (type === "turn.started" && createdAt) change((messages) => changeSent(messages, clientMessageId, { createdAt }));
    if (turnId && (turnId === view.turnId || hasEnded(shown.getSnapshot().messages, turnId))) return;
    if (received.type === "live") {
      const { event } = received;
      return "typing" in event ? showTyping(event.typing ? event.actor : undefined) : change((messages) => applyLive(messages, event));
    }
    if (type === "conversation.created") {
      // It may have been deleted since.
      const { conversation } = data as { conversation?: components["schemas"]["Conversation"] };
      if (conversation && conversation.key === key && (userId ?? conversation.userId) === conversation.userId)
        view.follow(conversation.id, signal);
      return;
    }
    if (!followed?.startsWith("conversation:") || type === "conversation.updated" || type === "turn.queued") return;
    // These can be of any messages that are shown.
    const found = await view.read(signal, !/^messages|updated|deleted/.test(type));
    // A turn that has ended without a reply, since staff handled the conversation meanwhile, has begun none.
    if (isLast(received.event)) change((messages) => messages.filter((it) => it.turnId !== turnId || it.status !== "streaming"));
    // While staff handles the conversation, there is no reply.
    if (type === "turn.started" && found?.handledBy !== "staff") change((messages) => withReply(messages, turnId ?? ""));
    if (!view.active) await view.settle(signal);
  };

  const view: View = {
    shown,
    change,
    proceed,
    isUnread: false,
    known: id,
    turnId: undefined,
    turnKnown: undefined,
    active: 0,

    read: (signal, isNewest) => inOrder(() => readShown(signal, isNewest)),

    readOlder(signal) {
      const before = cursor;
      const read = inOrder(async () => {
        // Nothing is older, or another call has read it.
        if (!before || before !== cursor) return;
        const { data, nextCursor } = await readPage(PAGE, before, signal);
        cursor = nextCursor;
        change((messages) => [...oldestFirst(data), ...messages]);
      });
      return read.catch((error: unknown) => view.fail(error, signal));
    },

    follow(conversationId, signal) {
      const channel = conversationId ? `conversation:${conversationId}` : `agent:${agentId}`;
      if (channel === followed) return;
      view.unfollow();
      followed = channel;
      stop = feed.follow(channel, position, (received) => {
        // The next `load` tries again. A missing scope is not asked for again until the conversation is closed.
        if (received.type === "rejected" && channel === followed && !reasonIs(received.error, "insufficient_scope")) followed = undefined;
        newest = newest.then(() => show(received, signal)).catch((error: unknown) => view.fail(error, signal));
      });
    },

    unfollow() {
      stop();
      followed = undefined;
    },

    fail(error, signal) {
      if (!signal?.aborted) proceed("failed", undefined, lost(error));
    },

    async settle(signal) {
      const { status, turnId } = shown.getSnapshot().messages.at(-1) ?? {};
      if (status === "failed" && turnId) {
        const { error } = await rest.turns.get(turnId, undefined, { signal });
        if (error) return view.fail(new ProblemError(error));
      }
      const { messages } = shown.getSnapshot();
      proceed((["streaming", "requires_action"] as const).find((open) => messages.some(({ status }) => status === open)) ?? "ready");
    },
  };
  return view;
};
