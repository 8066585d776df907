import { useQueryClient } from "@tanstack/react-query";
import type { components } from "agent-service-client";
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { useScope, useSession } from "../session/session.js";
import { Badge, OpenBadge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { count } from "../ui/count.js";
import { Empty, MissingScope } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
import { PagedList, type PagedQuery, usePages } from "../ui/paged-list.js";
import { Time } from "../ui/time.js";
import { EraseUser } from "../users/erase.js";
import { Filters, useListQuery } from "./filters.js";
import { MatchedText } from "./matched-text.js";
import { withTitles } from "./title.js";

type Conversation = components["schemas"]["Conversation"] & { agentName?: string | undefined };

/** Returns the address of a conversation, which contains what a search has found there, and the filters of the list, to come back. */
const addressOf = ({ id, match }: Conversation, list: string): string => {
  const search = new URLSearchParams({ ...(match?.messageId != null && { message: match.messageId }), ...(list !== "" && { list }) });
  return `/conversations/${id}?${search}`.replace(/\?$/, "");
};

/** A conversation, with what a search has found in it. */
const Row = ({ conversation, search }: { conversation: Conversation; search: string }) => {
  const [list] = useSearchParams();
  const { title, excerpt, userId, agentName, openTurns, handledBy, assignee, waitingSince, messageCount } = conversation;
  const { lastMessageAt, createdAt, match } = conversation;
  const shownTitle = title ?? excerpt ?? "No messages";
  // The first message is the title of a conversation that has no other.
  const isInTitle = match !== undefined && (match.messageId == null || match.snippet === shownTitle);
  return (
    <Link href={addressOf(conversation, list.toString())} className="list-row">
      <span className="list-main">
        <strong className={isInTitle ? "snippet" : "truncate"} dir="auto">
          {isInTitle ? <MatchedText text={shownTitle} search={search} /> : shownTitle}
        </strong>
        {match !== undefined && !isInTitle && (
          <span className="small snippet" dir="auto">
            <MatchedText text={match.snippet} search={search} />
          </span>
        )}
        <span className="muted small facts-line">
          {agentName !== undefined && (
            <span className="truncate">
              <bdi>{agentName}</bdi>
            </span>
          )}
          <span>{count(messageCount, "message")}</span>
        </span>
      </span>
      <span className="row list-tags">
        {openTurns?.[0] !== undefined && <OpenBadge status={openTurns[0].status} />}
        {handledBy === "staff" && <Badge tone={waitingSince === undefined ? "neutral" : "warn"}>{assignee ?? "staff"}</Badge>}
        {userId != null && <Badge>user {userId}</Badge>}
      </span>
      <span className="muted small list-time">
        <Time at={lastMessageAt ?? createdAt} />
      </span>
    </Link>
  );
};

/** Returns a function that reads a page of conversations with titles and the names of their agents. */
const useLoad = (filter: string) => {
  const { service } = useSession();
  const queries = useQueryClient();
  const canRead = useScope("agents:read");
  return async (page: { cursor?: string; limit: number }) => {
    const { data, ...rest } = await service.conversations.list({ ...page, ...JSON.parse(filter) });
    const ids = [...new Set(data.map(({ agentId }) => agentId))].join();
    const [agents, titled] = await Promise.all([
      canRead && ids !== "" ? service.agents.list({ ids }) : undefined,
      withTitles(queries, service, data),
    ]);
    const names = new Map(agents?.data.map((agent) => [agent.id, agent.name]));
    return { ...rest, data: titled.map((conversation): Conversation => ({ ...conversation, agentName: names.get(conversation.agentId) })) };
  };
};

/** Says that a search does not find older conversations yet. */
const Indexing = ({ list }: { list: PagedQuery<Conversation> }) => {
  const { data } = usePages(list);
  if (!data?.pages.some(({ searchedTo }) => searchedTo === null)) return null;
  return (
    <p className="notice warn" role="status">
      Older conversations are still being indexed. They will appear here.
    </p>
  );
};

const NothingFound = ({ filter }: { filter: string }) => {
  if (filter === "{}") {
    return (
      <Empty
        title="No conversations yet"
        action={
          <Link href="/chat" className="button primary">
            Start a chat
          </Link>
        }
      >
        They appear here as soon as somebody writes to an agent.
      </Empty>
    );
  }
  if ("q" in JSON.parse(filter)) {
    return <Empty title="Nothing found">The title or one message of a conversation must contain all of these words.</Empty>;
  }
  return <Empty title="No conversation fits">Other filters may show some.</Empty>;
};

/** Erases the user whose conversations are listed. */
const EraseButton = ({ userId }: { userId: string }) => {
  const [isAsking, setIsAsking] = useState(false);
  return (
    <>
      <Button onClick={() => setIsAsking(true)}>Erase this user…</Button>
      {isAsking && <EraseUser userId={userId} onClose={() => setIsAsking(false)} />}
    </>
  );
};

export const ConversationsPage = () => {
  const filter = useListQuery();
  const shown: { q?: string; userId?: string } = JSON.parse(filter);
  // Events move conversations to the top of a list, but not of results.
  const list = { queryKey: [shown.q === undefined ? "conversations" : "search", filter], load: useLoad(filter) };
  const mayErase = useScope("users:admin");
  if (!useScope("conversations:read")) return <MissingScope scope="conversations:read" />;
  return (
    <>
      <PageHeader title="Conversations">
        {mayErase && shown.userId !== undefined && <EraseButton key={shown.userId} userId={shown.userId} />}
      </PageHeader>
      <Filters />
      {shown.q !== undefined && <Indexing list={list} />}
      <PagedList
        label="Conversations"
        {...list}
        keyOf={(conversation) => conversation.id}
        row={(conversation) => <Row conversation={conversation} search={shown.q ?? ""} />}
        empty={<NothingFound filter={filter} />}
      />
    </>
  );
};
