import { lost, type ServiceError } from "../errors.js";
import type { components } from "../generated/schema.js";
import type { Client, LogEvent } from "../index.js";
import { sleep } from "../pause.js";
import { createState, type LiveState } from "../state.js";
import { eventHubOf } from "./event-hub.js";
import { live } from "./live.js";
import { recover } from "./recover.js";

export type ConversationInfo = components["schemas"]["Conversation"];

/** Selects conversations. */
export interface ConversationFilter {
  /** Only conversations with this agent. */
  agentId?: string | undefined;
  /** The user, for callers that act for several users. */
  userId?: string | undefined;
  /** Only conversations that the agent, or staff, handles. */
  handledBy?: ConversationInfo["handledBy"] | undefined;
  /** Only conversations that this member of staff has taken over. */
  assignee?: string | undefined;
  /** Only conversations whose users wait for staff, the longest waiting first. */
  waiting?: true | undefined;
  /** Only conversations with a message that is rated so; for users their own ratings count. */
  rating?: "up" | "down" | undefined;
  /** Only conversations whose newest message is of this time or later, or of a time before `to`, in ISO 8601. */
  from?: string | undefined;
  to?: string | undefined;
  /** Only conversations with this value of the pair in their metadata. */
  [pair: `metadata.${string}`]: string | undefined;
  /**
   * Only conversations whose title or one of whose messages contains all of these words, each with a `match`. What was
   * found stays as it was, but for deleted conversations: create another list to search again.
   */
  q?: string | undefined;
  /** The number of conversations that are read at once; 20 by default. */
  limit?: number | undefined;
}

/** The conversations of a user, as a page shows them. */
export interface ConversationsState {
  /** Those with the newest messages first, unless they wait; results of a search by their newest match. */
  conversations: readonly ConversationInfo[];
  status: "loading" | "ready" | "failed";
  /** True if `loadMore` returns older conversations. */
  hasMore: boolean;
  error?: ServiceError | undefined;
}

export interface LiveConversations extends LiveState<ConversationsState> {
  /** Reads the next page. */
  loadMore(): Promise<void>;
}

/** A query contains texts, such as `true`. */
type Query = Parameters<Client["conversations"]["list"]>[0];

/** The time for which changes are collected before a read, in milliseconds. It lets the reply that has started arrive first. */
const COLLECTING = 200;

/** The extent of a read: the newest page, or all conversations again. */
type Extent = "newest" | "all";

/** Returns a function that requests a read. Requests during a read lead to one more. */
const reader = (read: (extent: Extent) => Promise<void>, signal: AbortSignal): ((extent: Extent) => Promise<void>) => {
  let wanted: Extent | undefined;
  let isReading = false;
  return async (extent) => {
    if (wanted !== "all") wanted = extent;
    if (isReading) return;
    isReading = true;
    try {
      while (wanted !== undefined) {
        if (wanted === "newest") await sleep(COLLECTING, signal);
        const next: Extent = wanted;
        wanted = undefined;
        await read(next);
      }
    } catch {
      // No longer followed.
    } finally {
      isReading = false;
    }
  };
};

/** Returns conversations whose changes are followed. */
export const liveConversations = (client: Client, filter: ConversationFilter = {}): LiveConversations => {
  const shown = createState<ConversationsState>({ conversations: [], status: "loading", hasMore: false });
  const { agentId, userId, limit, q: _, ...selection } = filter;
  // Those that wait, or have an assignee, are handled by staff.
  const { assignee, waiting, handledBy = waiting || assignee ? "staff" : undefined } = selection;
  // A selection is entered and left at any place, not only with the newest message.
  const isSelection = Object.keys(selection).length > 0;
  // Of a text field, which can be empty.
  const q = filter.q?.trim() || undefined;
  const deleted = new Set<string>();
  /** The cursor of the next older page. */
  let cursor: string | null | undefined;
  let isLoadingMore = false;

  /** One that has moved to another user is deleted for its user, but not for those who see all. */
  const isPresent = (info: ConversationInfo) =>
    !deleted.has(info.id) && (!userId || userId === info.userId) && (!handledBy || handledBy === info.handledBy);
  const show = (conversations: readonly ConversationInfo[]) =>
    shown.update(() => ({ conversations: conversations.filter(isPresent), status: "ready", hasMore: cursor != null }));
  const fail = (error: unknown) => shown.update((state) => ({ ...state, status: "failed", error: lost(error) }));

  const read = async (extent: Extent, signal: AbortSignal) => {
    const listed = new Map<string, ConversationInfo>();
    for (let next: string | undefined; ; ) {
      const { data, nextCursor } = await client.conversations.list({ ...filter, q, cursor: next } as Query, { signal });
      for (const info of data) listed.set(info.id, info);
      const { conversations } = shown.getSnapshot();
      const last = data.at(-1);
      // Changed conversations come first: if the last one is unchanged, the known ones after it follow.
      const isUnchanged = !isSelection && conversations.some(({ id, updatedAt }) => id === last?.id && updatedAt === last.updatedAt);
      const older = conversations.filter(({ id }) => !listed.has(id));
      // Of a selection, all that is shown is read again.
      const isContinued = extent === "newest" && (isSelection ? listed.size < conversations.length : older.length > 0);
      if (isContinued && isUnchanged) return show([...listed.values(), ...older]);
      next = nextCursor ?? undefined;
      if (isContinued && next) continue;
      cursor = nextCursor;
      return show([...listed.values()]);
    }
  };

  const start = (signal: AbortSignal) => {
    const request = reader(
      (extent) => read(extent, signal).catch((error: unknown) => recover(error, fail, () => request(extent), signal)),
      signal,
    );
    const onEvent = ({ type, agentId: changedAgent, conversationId, data }: LogEvent) => {
      if (conversationId === undefined || (agentId !== undefined && changedAgent !== agentId)) return;
      if (type === "conversation.deleted") {
        deleted.add(conversationId);
        shown.update((state) => ({ ...state, conversations: state.conversations.filter(isPresent) }));
      }
      if (q) return;
      if (type === "conversation.updated" && "conversation" in data && "metadata" in data.conversation) {
        const { conversation } = data;
        // It may have been lost to another user, and come back.
        deleted.delete(conversationId);
        shown.update((state) => ({
          ...state,
          conversations: state.conversations.map((known) => (known.id === conversationId ? conversation : known)).filter(isPresent),
        }));
      }
      void request("newest");
    };
    const ready = eventHubOf(client).join({ onEvent, onReload: () => void request("all") }, signal);
    // Read after the position is known, so that no change is missed. Without permission to follow events, the
    // conversations are read once.
    void ready.then(() => request("all"));
  };

  const loadMore = async () => {
    if (isLoadingMore || cursor == null) return;
    isLoadingMore = true;
    const from = cursor;
    try {
      const { data, nextCursor } = await client.conversations.list({ ...filter, q, cursor: from } as Query);
      // The list has begun anew meanwhile.
      if (cursor !== from) return;
      cursor = nextCursor;
      const { conversations } = shown.getSnapshot();
      show([...conversations, ...data.filter(({ id }) => !conversations.some((known) => known.id === id))]);
    } catch (error) {
      fail(error);
    } finally {
      isLoadingMore = false;
    }
  };

  return { ...live(shown, start), loadMore };
};
