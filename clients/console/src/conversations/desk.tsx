import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { components } from "agent-service-client";
import { useRef } from "react";
import { useScope, useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { ErrorNotice } from "../ui/notice.js";
import { Time } from "../ui/time.js";
import { Notes } from "./notes.js";
import { StaffMessage } from "./staff-message.js";
import { useAuthor } from "./use-author.js";
import { useTyping } from "./use-typing.js";

type Conversation = components["schemas"]["Conversation"];

const HandledBy = ({ isOfStaff }: { isOfStaff: boolean }) => (
  <Badge tone={isOfStaff ? "warn" : "neutral"}>{isOfStaff ? "handled by staff" : "handled by the agent"}</Badge>
);

interface HandlingProps {
  conversation: Conversation;
  author: string;
  /** Called after a change, whose button may be gone then. */
  onChange: (to: Conversation["handledBy"]) => void;
}

/** Who answers in a conversation, and buttons that change it. */
const Handling = ({ conversation, author, onChange }: HandlingProps) => {
  const { id, handledBy, assignee, waitingSince, handover, version } = conversation;
  const { service } = useSession();
  const queries = useQueryClient();
  const handOver = useMutation({
    // Only one of two members who claim it at once may succeed.
    mutationFn: (to: "agent" | "staff") => {
      const change = { handledBy: to, assignee: to === "staff" && author !== "" ? author : null };
      return service.conversations.patch(id, change, { headers: { "If-Match": `"v${version}"` } });
    },
    onSuccess: ({ handledBy }) => onChange(handledBy),
    onSettled: () => queries.invalidateQueries({ queryKey: ["conversation", id] }),
  });
  const isOfStaff = handledBy === "staff";
  const isForeign = author !== "" && assignee !== author;
  return (
    <>
      <div className="row">
        <HandledBy isOfStaff={isOfStaff} />
        {assignee !== undefined && <span>{assignee}</span>}
        {waitingSince !== undefined && (
          <span>
            waiting since <Time at={waitingSince} />
          </span>
        )}
        {(!isOfStaff || isForeign) && (
          <Button aria-disabled={handOver.isPending} onClick={() => handOver.isPending || handOver.mutate("staff")}>
            Take over
          </Button>
        )}
        {isOfStaff && (
          <Button aria-disabled={handOver.isPending} onClick={() => handOver.isPending || handOver.mutate("agent")}>
            Give back to the agent
          </Button>
        )}
      </div>
      {handover !== undefined && (
        <p>
          Handed over by the agent <Time at={handover.at} />
          {handover.reason !== null && <>: {handover.reason}</>}
        </p>
      )}
      {handOver.isError && <ErrorNotice error={handOver.error} />}
    </>
  );
};

/** Who answers in a conversation, who types in it, and what a member of staff writes in it. */
const StaffDesk = ({ conversation }: { conversation: Conversation }) => {
  const { id, userId } = conversation;
  const [name, setName] = useAuthor();
  const author = name.trim();
  const [typist, reportTyping] = useTyping(id);
  const desk = useRef<HTMLElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  return (
    <section className="desk" aria-label="Desk" ref={desk} tabIndex={-1}>
      <p className="desk-typing small muted" role="status">
        {typist !== undefined && (typist.replace(/^user:/, "") === userId ? "The user is typing…" : "Somebody else is typing…")}
      </p>
      <Handling
        conversation={conversation}
        author={author}
        onChange={(handledBy) => (handledBy === "staff" ? field : desk).current?.focus()}
      />
      <StaffMessage conversationId={id} field={field} name={name} onName={setName} onTyping={reportTyping} />
      <Notes conversationId={id} author={author} />
    </section>
  );
};

/** The desk for those who may write as staff; others see whether staff answers. */
export const Desk = ({ conversation }: { conversation: Conversation }) => {
  const { principal } = useSession();
  const mayWrite = useScope("conversations:write");
  const reachesAll = useScope("conversations:all");
  if (mayWrite && (principal.userId == null || reachesAll)) return <StaffDesk conversation={conversation} />;
  return conversation.handledBy === "staff" ? <HandledBy isOfStaff /> : null;
};
