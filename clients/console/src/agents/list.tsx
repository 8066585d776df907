import { Link } from "wouter";
import { useScope, useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { count } from "../ui/count.js";
import { Icon } from "../ui/icon.js";
import { Empty, MissingScope } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
import { PagedList } from "../ui/paged-list.js";
import { Search } from "../ui/search.js";
import { Time } from "../ui/time.js";
import { useDebounced } from "../ui/use-debounced.js";
import { useFilter } from "../ui/use-filter.js";
import type { Agent } from "./agent.js";

const Row = ({ agent }: { agent: Agent }) => {
  const rules = agent.config.rules?.length ?? 0;
  return (
    <Link href={`/agents/${agent.id}`} className="list-row">
      <span className="list-main">
        <strong className="truncate" dir="auto">
          {agent.name}
        </strong>
        <span className="muted small truncate" dir="auto">
          {agent.personality || "No personality"}
        </span>
      </span>
      <span className="row list-tags">
        {agent.config.engine !== undefined && <Badge tone="accent">{agent.config.engine}</Badge>}
        {rules > 0 && <Badge>{count(rules, "rule")}</Badge>}
        {agent.capabilities.length > 0 && <Badge>{count(agent.capabilities.length, "capability", "capabilities")}</Badge>}
      </span>
      <span className="muted small list-time">
        <Time at={agent.updatedAt} />
      </span>
    </Link>
  );
};

export const AgentsPage = () => {
  const { service } = useSession();
  const [name, setName] = useFilter("name");
  const [capability, setCapability] = useFilter("capability");
  const filter = useDebounced(
    JSON.stringify({ ...(name.trim() && { name: name.trim() }), ...(capability.trim() && { capability: capability.trim() }) }),
  );
  const canWrite = useScope("agents:write");
  if (!useScope("agents:read")) return <MissingScope scope="agents:read" />;
  const create = (
    <Link href="/agents/new" className="button primary">
      <Icon name="plus" /> New agent
    </Link>
  );
  const isFiltered = filter !== "{}";
  return (
    <>
      <PageHeader title="Agents">{canWrite && create}</PageHeader>
      <div className="filters">
        <Search label="Name" value={name} onChange={setName} placeholder="Begins with…" />
        <Search label="Capability" value={capability} onChange={setCapability} placeholder="Exactly…" />
      </div>
      <PagedList
        label="Agents"
        queryKey={["agents", filter]}
        load={(page) => service.agents.list({ ...page, ...JSON.parse(filter) })}
        keyOf={(agent) => agent.id}
        row={(agent) => <Row agent={agent} />}
        empty={
          isFiltered ? (
            <Empty title="No agent fits">Another name or capability may find one.</Empty>
          ) : (
            <Empty title="No agents yet" action={canWrite && create}>
              An agent has a name, a personality and an engine that replies for it.
            </Empty>
          )
        }
      />
    </>
  );
};
