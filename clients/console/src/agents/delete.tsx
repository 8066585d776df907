import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { useScope, useSession } from "../session/session.js";
import { count } from "../ui/count.js";
import { Confirm } from "../ui/dialog.js";
import { notify } from "../ui/toast.js";
import { forgetChanges } from "../unsaved.js";
import type { Agent } from "./agent.js";

const COUNTED = 100;

/** Asks before an agent is deleted, and shows what is deleted with it. */
export const DeleteAgent = ({ agent, onClose }: { agent: Agent; onClose: () => void }) => {
  const { service } = useSession();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const canCount = useScope("conversations:read");
  const conversations = useQuery({
    queryKey: ["conversations", "of-agent", agent.id],
    queryFn: () => service.conversations.list({ agentId: agent.id, limit: COUNTED }),
    enabled: canCount,
  });
  const { data, hasMore } = conversations.data ?? { data: undefined, hasMore: false };
  const open = data?.filter(({ openTurns }) => (openTurns?.length ?? 0) > 0).length ?? 0;
  const total = data === undefined ? "All its" : hasMore ? `More than ${data.length}` : String(data.length);
  const rules = agent.config.rules?.length ?? 0;
  return (
    <Confirm
      title={`Delete “${agent.name}”?`}
      action="Delete the agent"
      onClose={onClose}
      onConfirm={async () => {
        await service.agents.delete(agent.id);
        forgetChanges();
        navigate("/agents");
        queries.removeQueries({ queryKey: ["agent", agent.id] });
        void queries.invalidateQueries({ queryKey: ["agents"] });
        notify(`“${agent.name}” was deleted.`);
      }}
    >
      <p>With it are deleted:</p>
      <ul className="bullets">
        <li>
          {data?.length === 1 ? "1 conversation, with its messages and turns" : `${total} conversations, with their messages and turns`}
        </li>
        <li>its configuration{rules > 0 && `, with ${count(rules, "rule")}`}</li>
        {open > 0 && <li>{count(open, "turn")} in progress</li>}
      </ul>
      <p>The event log keeps the events so far. This cannot be undone.</p>
    </Confirm>
  );
};
