import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Link } from "wouter";
import { AgentName } from "../agents/agent-name.js";
import { ToolCallView } from "../chat/tool-call.js";
import { useSession } from "../session/session.js";
import { QueryState } from "../ui/query-state.js";
import { Time } from "../ui/time.js";
import { DecisionError } from "./decision-error.js";
import { useDecide } from "./use-decide.js";
import { type ListedTurn, useHasMoved } from "./use-kept.js";
import { waitsForStaff } from "./waiting.js";

/** The turn as it is now, once no call of it waits in the list any more. */
const useCurrent = ({ id, conversationId, isDecided = false }: ListedTurn) => {
  const { service } = useSession();
  return useQuery({ queryKey: ["conversation", conversationId, "turn", id], queryFn: () => service.turns.get(id), enabled: isDecided });
};

const UserOf = ({ conversationId }: { conversationId: string }) => {
  const { service } = useSession();
  const { data } = useQuery({
    queryKey: ["conversation", conversationId],
    queryFn: () => service.conversations.get(conversationId),
    staleTime: 60_000,
  });
  return data?.userId == null ? null : <span>user {data.userId}</span>;
};

/** A turn with its calls that wait for staff, and with what was decided about them since the list was opened. */
export const TurnRow = ({ turn }: { turn: ListedTurn }) => {
  const { id, agentId, conversationId, createdAt, input, isDecided = false } = turn;
  const row = useRef<HTMLDivElement>(null);
  const hasMoved = useHasMoved(row);
  // The button that had the focus is gone then.
  const { decide, error } = useDecide(id, hasMoved, () => row.current?.focus());
  const current = useCurrent(turn);
  const [asked] = useState(() => new Set<string | undefined>());
  for (const call of turn.toolCalls.filter(waitsForStaff)) asked.add(call.id);
  const calls = (isDecided ? (current.data?.toolCalls ?? []) : turn.toolCalls).filter((call) => asked.has(call.id));
  return (
    <div className="list-row approval" ref={row} tabIndex={-1} role="group" aria-labelledby={`turn-${id}`}>
      <Link href={`/conversations/${conversationId}`} id={`turn-${id}`} className="truncate" dir="auto">
        {input || "Conversation"}
      </Link>
      <span className="muted small facts-line">
        <span>
          <AgentName id={agentId} />
        </span>
        <UserOf conversationId={conversationId} />
        <Time at={createdAt} />
      </span>
      {isDecided && <QueryState query={current} />}
      {calls.map((call) => (
        <ToolCallView key={call.id} call={call} isOpen decide={decide} />
      ))}
      {error !== undefined && <DecisionError error={error} />}
      {!calls.every(waitsForStaff) && (
        <p className="small">
          <Link href={`/conversations/${conversationId}`}>See what followed in the conversation</Link>
        </p>
      )}
    </div>
  );
};
