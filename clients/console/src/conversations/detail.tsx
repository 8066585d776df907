import { Tabs } from "@base-ui/react/tabs";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { AgentName } from "../chat/new-chat.js";
import { useScope, useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { count } from "../ui/count.js";
import { Icon } from "../ui/icon.js";
import { ErrorNotice, Loading, MissingScope } from "../ui/notice.js";
import { Time } from "../ui/time.js";
import { Messages } from "./messages.js";
import { Turns } from "./turns.js";

/** A conversation. The event log reports its changes, and then it is read again. */
export const ConversationPage = ({ id }: { id: string }) => {
  const { service } = useSession();
  const canRead = useScope("conversations:read");
  const canChat = useScope("chat:write");
  const canFollow = useScope("events:read");
  const query = useQuery({ queryKey: ["conversation", id], queryFn: () => service.conversations.get(id), enabled: canRead });
  if (!canRead) return <MissingScope scope="conversations:read" />;
  if (query.isPending) return <Loading />;
  if (query.data === undefined) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />;
  const { agentId, title, key, userId, messageCount, openTurns, createdAt } = query.data;
  const user = userId == null ? "" : `?user=${encodeURIComponent(userId)}`;
  return (
    <>
      <header className="page-header">
        <div>
          <Link href="/conversations" className="back">
            ← Conversations
          </Link>
          <h1>{title ?? "Conversation"}</h1>
          <p className="muted small mono">{id}</p>
        </div>
        {canChat && key != null && (
          <Link href={`/chat/${agentId}/${encodeURIComponent(key)}${user}`} className="button">
            <Icon name="chat" /> Continue the chat
          </Link>
        )}
      </header>
      {query.isError && <ErrorNotice error={query.error} />}
      <div className="row small muted">
        <AgentName id={agentId} />
        <span>· {count(messageCount, "message")}</span>
        {userId != null && <span>· user {userId}</span>}
        {key != null && <span className="truncate">· key {key}</span>}
        <span>
          · created <Time at={createdAt} />
        </span>
        {(openTurns?.length ?? 0) > 0 && <Badge tone="accent">replying</Badge>}
        {!canFollow && <Badge tone="warn">not live without events:read</Badge>}
      </div>
      <Tabs.Root defaultValue="messages">
        <Tabs.List className="tabs">
          <Tabs.Tab className="tab" value="messages">
            Messages
          </Tabs.Tab>
          <Tabs.Tab className="tab" value="turns">
            Turns
          </Tabs.Tab>
          <Tabs.Indicator className="tab-indicator" />
        </Tabs.List>
        <Tabs.Panel value="messages" className="panel">
          <Messages id={id} isOpen={(openTurns?.length ?? 0) > 0} />
        </Tabs.Panel>
        <Tabs.Panel value="turns" className="panel">
          <Turns id={id} />
        </Tabs.Panel>
      </Tabs.Root>
    </>
  );
};
