import { randomId } from "agent-service-client";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useScope, useSession } from "../session/session.js";
import { Empty, MissingScope } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
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
  const start = (agentId: string) =>
    navigate(`/chat/${agentId}/${randomId()}${userId.trim() === "" ? "" : `?user=${encodeURIComponent(userId.trim())}`}`);
  return (
    <>
      <PageHeader title="New chat" detail="Choose the agent that replies." />
      <div className="filters">
        <Search label="Agent" value={text} onChange={setText} placeholder="Begins with…" />
        <label className="search">
          <span className="small muted">User (optional)</span>
          <input className="input" value={userId} onChange={(event) => setUserId(event.target.value)} placeholder="Belongs to…" />
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
              <strong className="truncate" dir="auto">
                {agent.name}
              </strong>
              <span className="muted small truncate" dir="auto">
                {agent.personality || "No personality"}
              </span>
            </span>
            <span className="link-like">Start a chat</span>
          </button>
        )}
        empty={
          name ? (
            <Empty title="No agent fits">Another name may find one.</Empty>
          ) : (
            <Empty
              title="No agents yet"
              action={
                <Link href="/agents/new" className="button primary">
                  New agent
                </Link>
              }
            >
              Create one to chat with it.
            </Empty>
          )
        }
      />
    </>
  );
};
