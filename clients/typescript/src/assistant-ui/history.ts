import { ExportedMessageRepository, type ThreadHistoryAdapter, useAui } from "@assistant-ui/react";
import { useMemo } from "react";
import { createChatTransport } from "../ai/index.js";
import type { Client } from "../index.js";
import { hasContent, messageOf } from "../message.js";
import { idsOf, urlsOf } from "./attachments.js";
import { findConversation, type ThreadOptions } from "./conversation.js";
import { threadMessage } from "./messages.js";

/**
 * Returns the stored messages of a conversation for runtimes that keep their messages themselves.
 * `keyOf` returns its key; `undefined` for one that does not exist yet.
 */
export const createHistoryAdapter = (client: Client, options: ThreadOptions, keyOf: () => string | undefined): ThreadHistoryAdapter => ({
  async load() {
    const key = keyOf();
    if (key === undefined) return { messages: [] };
    const { id } = await findConversation(client, options, key);
    const { data } = await client.conversations.listMessages(id, { order: "desc", limit: 100 });
    const messages = data.reverse().map(messageOf).filter(hasContent);
    const urls = await urlsOf(client, idsOf(messages));
    return ExportedMessageRepository.fromArray(messages.map((message) => threadMessage(message, urls)));
  },
  // The service stores messages when it receives and generates them.
  append: async () => {},
  withFormat: <Message>() => ({
    async load() {
      const key = keyOf();
      const messages = key === undefined ? [] : await createChatTransport(client, options).load(key);
      return { messages: messages.map((message, index) => ({ message: message as Message, parentId: messages[index - 1]?.id ?? null })) };
    },
    append: async () => {},
  }),
});

/** Returns the history of the thread in whose context the component is. */
export const useHistoryAdapter = (client: Client, options: ThreadOptions): ThreadHistoryAdapter => {
  const aui = useAui();
  return useMemo(() => createHistoryAdapter(client, options, () => aui.threadListItem().getState().remoteId), [aui, client, options]);
};
