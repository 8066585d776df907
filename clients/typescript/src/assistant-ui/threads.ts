import type { RemoteThreadListAdapter, ThreadMessage } from "@assistant-ui/react";
import type { components } from "../generated/schema.js";
import type { Client } from "../index.js";
import { sleep } from "../pause.js";
import { findConversation, type ThreadOptions } from "./conversation.js";
import { useHistoryAdapter } from "./history.js";

type Thread = Awaited<ReturnType<RemoteThreadListAdapter["fetch"]>>;

/** The member of the metadata that marks an archived conversation. */
const ARCHIVED = "archived";
const LONGEST_TITLE = 60;
/** The number of attempts to find a conversation that is being created, and the milliseconds between them. */
const LOOKUPS = 40;
const LOOKUP_INTERVAL = 250;

const threadOf = ({ key, title, excerpt, metadata, lastMessageAt }: components["schemas"]["Conversation"]): Thread => ({
  remoteId: key ?? "",
  status: ARCHIVED in metadata ? "archived" : "regular",
  title: title ?? excerpt ?? undefined,
  lastMessageAt: lastMessageAt ? new Date(lastMessageAt) : undefined,
});

/** Returns the beginning of the first message, or the name of its file, since the service generates no titles. */
const titleOf = (messages: readonly ThreadMessage[]): string => {
  const { content = [], attachments = [] } = messages.find(({ role }) => role === "user") ?? {};
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join(" ") || (attachments[0]?.name ?? "");
  return text.replace(/\s+/g, " ").trim().slice(0, LONGEST_TITLE);
};

/**
 * Returns the conversations with an agent as threads, for `useRemoteThreadListRuntime`. The id of a
 * thread is the key of its conversation, which its first message creates.
 */
export const createThreadListAdapter = (client: Client, options: ThreadOptions): RemoteThreadListAdapter => {
  const { agentId, userId } = options;
  const idOf = async (key: string) => (await findConversation(client, options, key)).id;
  const patch = async (key: string, change: components["schemas"]["ConversationDraftPatch"]) =>
    void (await client.conversations.patch(await idOf(key), change));

  /** Waits for the first message, which creates the conversation while its title is generated. */
  const whenStored = async (key: string) => {
    for (let attempt = 0; attempt < LOOKUPS; attempt += 1) {
      const isStored = await idOf(key).then(Boolean, () => false);
      if (isStored) return;
      await sleep(LOOKUP_INTERVAL);
    }
  };

  return {
    async list({ after } = {}) {
      const query = userId === undefined ? { agentId } : { userId };
      const page = await client.conversations.list({ ...query, limit: 100, cursor: after });
      // Conversations without a key cannot be continued here.
      const own = page.data.filter((conversation) => conversation.agentId === agentId && conversation.key);
      return { threads: own.map(threadOf), nextCursor: page.nextCursor ?? undefined };
    },
    fetch: async (key) => threadOf(await findConversation(client, options, key)),
    initialize: async (key) => ({ remoteId: key }),
    rename: (key, title) => patch(key, { title }),
    archive: (key) => patch(key, { metadata: { [ARCHIVED]: "true" } }),
    unarchive: (key) => patch(key, { metadata: { [ARCHIVED]: null } }),
    delete: async (key) => void (await client.conversations.delete(await idOf(key))),
    async generateTitle(key, messages) {
      const title = titleOf(messages);
      return new ReadableStream({
        async start(controller) {
          controller.enqueue({ type: "part-start", path: [], part: { type: "text" } });
          controller.enqueue({ type: "text-delta", path: [0], textDelta: title });
          controller.enqueue({ type: "part-finish", path: [0] });
          await whenStored(key);
          // Without permission to change conversations, the title is shown until the page is reloaded.
          await patch(key, { title }).catch(() => {});
          controller.close();
        },
      });
    },
    unstable_useAdapters: () => ({ history: useHistoryAdapter(client, options) }),
  };
};
