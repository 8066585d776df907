import { type QueryClient, queryOptions, useQuery } from "@tanstack/react-query";
import type { Client, components } from "agent-service-client";
import { useSession } from "../session/session.js";

type Conversation = components["schemas"]["Conversation"];

const MAX_CHARACTERS = 120;

/** Reads the title that the first message of a user gives to a conversation, by its text or its file; `null` before there is one. */
const titleFromFirstMessage = (service: Client, id: string) =>
  queryOptions({
    queryKey: ["first-message", id],
    // Editing it is rare, and writing it is not.
    staleTime: ({ state }) => (state.data == null ? 0 : 60_000),
    queryFn: async () => {
      // A greeting may come before it.
      const { data } = await service.conversations.listMessages(id, { order: "asc", limit: 2 });
      const first = data.find(({ role }) => role === "user");
      return titleOf(first?.content) ?? titleOf(first?.files?.[0]?.name) ?? null;
    },
  });

/** Returns a message as a title: one line, not too long. */
export const titleOf = (message: string | undefined): string | undefined => {
  const characters = [...(message ?? "").trim().replace(/\s+/g, " ")];
  if (characters.length > MAX_CHARACTERS) return `${characters.slice(0, MAX_CHARACTERS).join("")}…`;
  return characters.length === 0 ? undefined : characters.join("");
};

const needsMessage = ({ title, messageCount }: Conversation): boolean => title == null && messageCount > 0;

/** Returns conversations with titles: their own or else their first messages. */
export const withTitles = <Item extends Conversation>(queries: QueryClient, service: Client, conversations: Item[]): Promise<Item[]> =>
  Promise.all(
    conversations.map(async (conversation) => {
      if (!needsMessage(conversation)) return conversation;
      // It may have been deleted meanwhile.
      const found = await queries.fetchQuery(titleFromFirstMessage(service, conversation.id)).catch(() => null);
      return { ...conversation, title: found };
    }),
  );

/** Returns the title of a conversation: its own or else its first message. */
export const useTitle = (conversation: Conversation | undefined): string | undefined => {
  const { service } = useSession();
  const query = useQuery({
    ...titleFromFirstMessage(service, conversation?.id ?? ""),
    enabled: conversation !== undefined && needsMessage(conversation),
  });
  return conversation?.title ?? query.data ?? undefined;
};
