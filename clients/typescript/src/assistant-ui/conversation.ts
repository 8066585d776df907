import type { Client } from "../index.js";

/** Selects the conversations that are shown as threads. */
export interface ThreadOptions {
  agentId: string;
  /** The user, for callers that act for several users. */
  userId?: string | undefined;
}

/** Returns the conversation with a key. */
export const findConversation = async (client: Client, { agentId, userId }: ThreadOptions, key: string) => {
  const [found] = (await client.conversations.list({ agentId, key, userId })).data;
  if (found === undefined) throw new Error("The conversation does not exist.");
  return found;
};
