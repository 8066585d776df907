import { Tabs } from "@base-ui/react/tabs";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "wouter";
import { AgentName } from "../agents/agent-name.js";
import { useScope, useSession } from "../session/session.js";
import { Badge, OpenBadge } from "../ui/badge.js";
import { CopyableId } from "../ui/copy.js";
import { count } from "../ui/count.js";
import { Icon } from "../ui/icon.js";
import { MissingScope } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
import { QueryState } from "../ui/query-state.js";
import { Time } from "../ui/time.js";
import { Desk } from "./desk.js";
import { Messages } from "./messages.js";
import { useTitle } from "./title.js";
import { Turns } from "./turns.js";

/** A conversation. The event log reports its changes, and then it is read again. */
export const ConversationPage = ({ id }: { id: string }) => {
  const { service } = useSession();
  const canRead = useScope("conversations:read");
  const canChat = useScope("chat:write");
  const canFollow = useScope("events:read");
  const query = useQuery({ queryKey: ["conversation", id], queryFn: () => service.conversations.get(id), enabled: canRead });
  const title = useTitle(query.data);
  const [search] = useSearchParams();
  if (!canRead) return <MissingScope scope="conversations:read" />;
  // The filters of the list that has led here.
  const list = search.get("list") ?? "";
  const back = [`/conversations${list && `?${list}`}`, "Conversations"] as const;
  if (query.data === undefined) {
    return (
      <>
        <PageHeader title="Conversation" back={back} />
        <QueryState query={query} />
      </>
    );
  }
  const { agentId, key, userId, messageCount, openTurns, createdAt } = query.data;
  const user = userId == null ? "" : `?user=${encodeURIComponent(userId)}`;
  return (
    <>
      <PageHeader
        title={title ?? "Conversation"}
        back={back}
        status={openTurns?.[0] !== undefined && <OpenBadge status={openTurns[0].status} />}
        detail={
          <>
            <div className="facts-line">
              <span>
                <AgentName id={agentId} />
              </span>
              <span>{count(messageCount, "message")}</span>
              {userId != null && (
                <span>
                  user <Link href={`/conversations?userId=${encodeURIComponent(userId)}`}>{userId}</Link>
                </span>
              )}
              {key != null && <span>key {key}</span>}
              <span>
                created <Time at={createdAt} />
              </span>
              {!canFollow && <Badge tone="warn">not live without events:read</Badge>}
            </div>
            <CopyableId id={id} of="conversation" />
          </>
        }
      >
        {canChat && key != null && (
          <Link href={`/chat/${agentId}/${encodeURIComponent(key)}${user}`} className="button">
            <Icon name="chat" /> Continue the chat
          </Link>
        )}
      </PageHeader>
      <QueryState query={query} />
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
          <Messages
            id={id}
            openTurn={openTurns?.[0]}
            found={search.get("message") ?? undefined}
            search={new URLSearchParams(list).get("q") ?? ""}
          />
          <Desk conversation={query.data} />
        </Tabs.Panel>
        <Tabs.Panel value="turns" className="panel">
          <Turns id={id} />
        </Tabs.Panel>
      </Tabs.Root>
    </>
  );
};
