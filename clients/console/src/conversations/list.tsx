import { useQueryClient } from "@tanstack/react-query";
import type { components } from "agent-service-client";
import { Link } from "wouter";
import { AgentFilter } from "../agents/agent-filter.js";
import { useScope, useSession } from "../session/session.js";
import { Badge, OpenBadge } from "../ui/badge.js";
import { count } from "../ui/count.js";
import { Empty, MissingScope } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
import { PagedList } from "../ui/paged-list.js";
import { Search } from "../ui/search.js";
import { Time } from "../ui/time.js";
import { useDebounced } from "../ui/use-debounced.js";
import { useFilter } from "../ui/use-filter.js";
import { withTitles } from "./title.js";

type Conversation = components["schemas"]["Conversation"] & { agentName?: string | undefined };

const Row = ({ conversation }: { conversation: Conversation }) => {
  const { id, title, excerpt, userId, agentName, openTurns, handledBy, assignee, waitingSince, messageCount } = conversation;
  const { lastMessageAt, createdAt } = conversation;
  return (
    <Link href={`/conversations/${id}`} className="list-row">
      <span className="list-main">
        <strong className="truncate" dir="auto">
          {title ?? excerpt ?? "No messages"}
        </strong>
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
const usePages = (filter: string) => {
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

export const ConversationsPage = () => {
  const [agentId, setAgentId] = useFilter("agentId");
  const [userId, setUserId] = useFilter("userId");
  const [waiting, setWaiting] = useFilter("waiting");
  const filter = useDebounced(
    JSON.stringify({
      ...(agentId.trim() && { agentId: agentId.trim() }),
      ...(userId.trim() && { userId: userId.trim() }),
      ...(waiting && { waiting }),
    }),
  );
  const load = usePages(filter);
  if (!useScope("conversations:read")) return <MissingScope scope="conversations:read" />;
  return (
    <>
      <PageHeader title="Conversations" />
      <div className="filters">
        <AgentFilter value={agentId} onChange={setAgentId} />
        <Search label="User" value={userId} onChange={setUserId} placeholder="All users" />
        <label className="row">
          <input type="checkbox" checked={waiting !== ""} onChange={({ target }) => setWaiting(target.checked ? "true" : "")} />
          Waiting for staff
        </label>
      </div>
      <PagedList
        label="Conversations"
        queryKey={["conversations", filter]}
        load={load}
        keyOf={(conversation) => conversation.id}
        row={(conversation) => <Row conversation={conversation} />}
        empty={
          filter === "{}" ? (
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
          ) : (
            <Empty title="No conversation fits">Another agent or user may have some.</Empty>
          )
        }
      />
    </>
  );
};
