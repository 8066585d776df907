import { Link } from "wouter";
import { AgentFilter } from "../agents/agent-filter.js";
import { useMayDecide, useScope, useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { Empty, MissingScope } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
import { PagedList } from "../ui/paged-list.js";
import { ScopeName } from "../ui/scope-name.js";
import { Search } from "../ui/search.js";
import { useDebounced } from "../ui/use-debounced.js";
import { useFilter } from "../ui/use-filter.js";
import { TurnRow } from "./turn-row.js";
import { useKept } from "./use-kept.js";
import { waitingTurns } from "./waiting.js";

const List = ({ filter }: { filter: string }) => {
  const { service } = useSession();
  const keep = useKept();
  return (
    <PagedList
      label="Calls that wait for staff"
      {...waitingTurns(service, filter)}
      arrange={keep}
      keyOf={(turn) => turn.id}
      row={(turn) => <TurnRow turn={turn} />}
      empty={
        filter === "{}" ? (
          <Empty title="Nothing waits for approval">
            Calls of tools that are <Link href="/agents">approved by staff</Link> appear here.
          </Empty>
        ) : (
          <Empty title="Nothing fits">Calls for another agent or user may wait.</Empty>
        )
      }
    />
  );
};

/** The tool calls that wait for staff, of all conversations. */
export const ApprovalsPage = () => {
  const [agentId, setAgentId] = useFilter("agentId");
  const [userId, setUserId] = useFilter("userId");
  const filter = useDebounced(
    JSON.stringify({ ...(agentId.trim() && { agentId: agentId.trim() }), ...(userId.trim() && { userId: userId.trim() }) }),
  );
  const mayDecide = useMayDecide();
  const canFollow = useScope("events:read");
  if (!useScope("conversations:read")) return <MissingScope scope="conversations:read" />;
  return (
    <>
      <PageHeader title="Approvals" status={!canFollow && <Badge tone="warn">not live without events:read</Badge>} />
      {!mayDecide && (
        <p className="notice warn">
          <span>
            You can see what waits, but not decide. That needs <ScopeName scope="tools:approve" />, and of a user{" "}
            <code>conversations:all</code>, too.
          </span>
        </p>
      )}
      <div className="filters">
        <AgentFilter value={agentId} onChange={setAgentId} />
        <Search label="User" value={userId} onChange={setUserId} placeholder="All users" />
      </div>
      <List key={filter} filter={filter} />
    </>
  );
};
