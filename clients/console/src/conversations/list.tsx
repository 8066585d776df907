import type { components } from "agent-service-client";
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { AgentName } from "../chat/new-chat.js";
import { useScope, useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { count } from "../ui/count.js";
import { Empty, MissingScope } from "../ui/notice.js";
import { PagedList } from "../ui/paged-list.js";
import { Search } from "../ui/search.js";
import { Time } from "../ui/time.js";
import { useDebounced } from "../ui/use-debounced.js";

type Conversation = components["schemas"]["Conversation"];

const Row = ({ conversation }: { conversation: Conversation }) => {
  const { id, title, excerpt, userId, openTurns, messageCount, lastMessageAt, createdAt } = conversation;
  return (
    <Link href={`/conversations/${id}`} className="list-row">
      <span className="list-main">
        <strong className="truncate">{title ?? excerpt ?? "No messages"}</strong>
        <span className="muted small truncate">{title != null ? excerpt : count(messageCount, "message")}</span>
      </span>
      <span className="row list-tags">
        {(openTurns?.length ?? 0) > 0 && <Badge tone="accent">replying</Badge>}
        {userId != null && <Badge>{userId}</Badge>}
      </span>
      <span className="muted small list-time">
        <Time at={lastMessageAt ?? createdAt} />
      </span>
    </Link>
  );
};

export const ConversationsPage = () => {
  const { service } = useSession();
  const [search] = useSearchParams();
  const [agentId, setAgentId] = useState(search.get("agentId") ?? "");
  const [userId, setUserId] = useState("");
  const filter = useDebounced(JSON.stringify({ ...(agentId.trim() && { agentId: agentId.trim() }), ...(userId.trim() && { userId: userId.trim() }) }));
  const canRead = useScope("agents:read");
  if (!useScope("conversations:read")) return <MissingScope scope="conversations:read" />;
  const chosen = (JSON.parse(filter) as { agentId?: string }).agentId;
  return (
    <>
      <header className="page-header">
        <h1>Conversations</h1>
      </header>
      <div className="filters">
        <Search label="Agent id" value={agentId} onChange={setAgentId} placeholder="All agents" />
        <Search label="User" value={userId} onChange={setUserId} placeholder="All users" />
      </div>
      {chosen !== undefined && canRead && (
        <div className="muted small">
          Of the agent <AgentName id={chosen} />
        </div>
      )}
      <PagedList
        label="Conversations"
        queryKey={["conversations", filter]}
        load={(page) => service.conversations.list({ ...page, ...JSON.parse(filter) })}
        keyOf={(conversation) => conversation.id}
        row={(conversation) => <Row conversation={conversation} />}
        empty={
          filter === "{}" ? (
            <Empty title="No conversations yet" action={<Link href="/chat" className="button primary">Start a chat</Link>}>
              They appear here as soon as somebody writes to an agent.
            </Empty>
          ) : (
            <Empty title="No conversation fits">Compare the ids with those of the agent and the user.</Empty>
          )
        }
      />
    </>
  );
};
