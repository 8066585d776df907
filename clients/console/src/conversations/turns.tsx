import { useQueryClient } from "@tanstack/react-query";
import type { components } from "agent-service-client";
import { useState } from "react";
import { TurnFacts } from "../chat/message.js";
import { Reply } from "../chat/reply.js";
import { useScope, useSession } from "../session/session.js";
import { StatusBadge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { CopyableId } from "../ui/copy.js";
import { Details } from "../ui/details.js";
import { Empty, ErrorNotice } from "../ui/notice.js";
import { PagedList } from "../ui/paged-list.js";
import { Time } from "../ui/time.js";

type Turn = components["schemas"]["Turn"];

const STATUSES = ["open", "queued", "in_progress", "completed", "failed", "cancelled"] as const;

const TurnRow = ({ turn }: { turn: Turn }) => {
  const { service } = useSession();
  const queries = useQueryClient();
  const canChat = useScope("chat:write");
  const [error, setError] = useState<unknown>();
  const isOpen = ["queued", "in_progress", "requires_action"].includes(turn.status);
  const cancel = () =>
    service.turns.cancel(turn.id).then(
      () => queries.invalidateQueries({ queryKey: ["conversation", turn.conversationId] }),
      (caught: unknown) => setError(caught),
    );
  return (
    <Details
      className="turn"
      isOpen={turn.status === "failed"}
      summary={
        <>
          <StatusBadge status={turn.status} />
          <span className="truncate turn-input" dir="auto">
            {turn.continues === undefined ? (turn.instruction ?? turn.input) : <span className="muted">After a decision of staff</span>}
          </span>
          <span className="muted small">
            <Time at={turn.createdAt} />
          </span>
        </>
      }
    >
      <div className="stack-s">
        <TurnFacts turn={turn} />
        <div className="muted small">
          <CopyableId id={turn.id} of="turn" />
        </div>
        {turn.error != null && <ErrorNotice error={turn.error} />}
        {error !== undefined && <ErrorNotice error={error} />}
        {turn.continues === undefined && (
          <>
            <h3>{turn.instruction === undefined ? "Message" : "Instruction"}</h3>
            <div className="bubble user" dir="auto">
              {turn.instruction ?? turn.input}
            </div>
          </>
        )}
        {(turn.reply != null || turn.reasoning !== undefined || (turn.toolCalls ?? []).length > 0) && (
          <>
            <h3>Reply</h3>
            <Reply turnId={turn.id} text={turn.reply?.content ?? ""} reasoning={turn.reasoning} toolCalls={turn.toolCalls ?? []} />
          </>
        )}
        {turn.retryOf != null && <p className="muted small">A repetition of {turn.retryOf}.</p>}
        {turn.continues !== undefined && <p className="muted small">It continues {turn.continues.turnId}.</p>}
        {isOpen && canChat && (
          <div>
            <Button onClick={() => void cancel()}>Cancel the turn</Button>
          </div>
        )}
      </div>
    </Details>
  );
};

/** The turns of a conversation, the newest first. */
export const Turns = ({ id }: { id: string }) => {
  const { service } = useSession();
  const [status, setStatus] = useState<"" | (typeof STATUSES)[number]>("");
  return (
    <div className="stack">
      <label className="search">
        <span className="small muted">Status</span>
        <select className="input" value={status} onChange={(event) => setStatus(event.target.value as typeof status)}>
          <option value="">All</option>
          {STATUSES.map((value) => (
            <option key={value} value={value}>
              {value.replace("_", " ")}
            </option>
          ))}
        </select>
      </label>
      <PagedList
        label="Turns"
        queryKey={["conversation", id, "turns", status]}
        load={(page) => service.conversations.listTurns(id, { ...page, order: "desc", ...(status === "" ? {} : { status }) })}
        keyOf={(turn) => turn.id}
        row={(turn) => <TurnRow turn={turn} />}
        empty={<Empty title={status === "" ? "No turns yet" : "No turn has this status"} />}
      />
    </div>
  );
};
