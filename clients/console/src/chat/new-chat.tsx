import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useScope, useSession } from "../session/session.js";
import { Empty, ErrorNotice, Loading, MissingScope } from "../ui/notice.js";
import { PagedList } from "../ui/paged-list.js";
import { Search } from "../ui/search.js";
import { useDebounced } from "../ui/use-debounced.js";

/** Chooses the agent of a new chat. */
export const NewChatPage = () => {
  const { service } = useSession();
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const [userId, setUserId] = useState("");
  const name = useDebounced(text.trim());
  const canRead = useScope("agents:read");
  if (!useScope("chat:write")) return <MissingScope scope="chat:write" />;
  if (!canRead) return <MissingScope scope="agents:read" />;
  const start = (agentId: string) => navigate(`/chat/${agentId}/${crypto.randomUUID()}${userId.trim() === "" ? "" : `?user=${encodeURIComponent(userId.trim())}`}`);
  return (
    <>
      <header className="page-header">
        <h1>New chat</h1>
      </header>
      <div className="filters">
        <Search label="Agent" value={text} onChange={setText} placeholder="Begins with…" />
        <label className="search">
          <span className="small muted">User (optional)</span>
          <input className="input" value={userId} onChange={(event) => setUserId(event.target.value)} placeholder="The conversation belongs to…" />
        </label>
      </div>
      <PagedList
        label="Agents to chat with"
        queryKey={["agents", "chat", name]}
        load={(page) => service.agents.list({ ...page, ...(name && { name }) })}
        keyOf={(agent) => agent.id}
        row={(agent) => (
          <button type="button" className="list-row" onClick={() => start(agent.id)}>
            <span className="list-main">
              <strong className="truncate">{agent.name}</strong>
              <span className="muted small truncate">{agent.personality || "No personality"}</span>
            </span>
            <span className="link-like">Start a chat</span>
          </button>
        )}
        empty={name ? <Empty title="No agent fits">Another name may find one.</Empty> : <Empty title="No agents yet" action={<Link href="/agents/new" className="button primary">New agent</Link>}>Create one to chat with it.</Empty>}
      />
    </>
  );
};

/** The name of an agent, with a link to it. */
export const AgentName = ({ id }: { id: string }) => {
  const { service } = useSession();
  const canRead = useScope("agents:read");
  const agent = useQuery({ queryKey: ["agent", id], queryFn: () => service.agents.get(id), enabled: canRead, staleTime: 60_000 });
  if (!canRead) return <span className="mono">{id}</span>;
  if (agent.isPending) return <Loading label="…" />;
  if (agent.data === undefined) return agent.error ? <ErrorNotice error={agent.error} /> : null;
  return <Link href={`/agents/${id}`}>{agent.data.name}</Link>;
};
