import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { components } from "agent-service-client";
import { type FormEvent, type KeyboardEvent, useState } from "react";
import { useScope, useSession } from "../session/session.js";
import { openStorage } from "../storage.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { ErrorNotice } from "../ui/notice.js";
import { Time } from "../ui/time.js";
import { Notes } from "./notes.js";

type Conversation = components["schemas"]["Conversation"];

const NAME = "agent-service-console.author";

/** The name under which this member of staff writes, kept in the browser. */
const useAuthor = (): [name: string, set: (name: string) => void] => {
  const storage = openStorage("localStorage");
  const [name, setName] = useState(() => storage.getItem(NAME) ?? "");
  const set = (changed: string) => {
    setName(changed);
    storage.setItem(NAME, changed);
  };
  return [name, set];
};

/** Who answers in a conversation, and what a member of staff writes in it. */
export const Desk = ({ conversation }: { conversation: Conversation }) => {
  const { id, handledBy, assignee, waitingSince, handover, version } = conversation;
  const { service, principal } = useSession();
  const queries = useQueryClient();
  const [author, setAuthor] = useAuthor();
  const [text, setText] = useState("");
  const refresh = () => queries.invalidateQueries({ queryKey: ["conversation", id] });
  const name = author.trim();

  const handOver = useMutation({
    // Only one of two members who claim it at once may succeed.
    mutationFn: (to: "agent" | "staff") => {
      const change = { handledBy: to, assignee: to === "staff" && name !== "" ? name : null };
      return service.conversations.patch(id, change, { headers: { "If-Match": `"v${version}"` } });
    },
    onSettled: refresh,
  });
  const write = useMutation({
    mutationFn: (content: string) => service.conversations.writeMessage(id, { content, ...(name !== "" && { author: { name } }) }),
    onSuccess: () => setText(""),
    onSettled: refresh,
  });
  const send = (event: FormEvent | KeyboardEvent) => {
    event.preventDefault();
    if (text.trim() !== "" && !write.isPending) write.mutate(text);
  };

  const mayWrite = useScope("conversations:write");
  const reachesAll = useScope("conversations:all");
  const isOfStaff = handledBy === "staff";
  const status = <Badge tone={isOfStaff ? "warn" : "neutral"}>{isOfStaff ? "handled by staff" : "handled by the agent"}</Badge>;
  if (!mayWrite || (principal.userId != null && !reachesAll)) return isOfStaff ? status : null;
  return (
    <section className="desk" aria-label="Desk">
      <div className="row">
        {status}
        {assignee !== undefined && <span>{assignee}</span>}
        {waitingSince !== undefined && (
          <span>
            waiting since <Time at={waitingSince} />
          </span>
        )}
        {(!isOfStaff || (name !== "" && assignee !== name)) && (
          <Button disabled={handOver.isPending} onClick={() => handOver.mutate("staff")}>
            Take over
          </Button>
        )}
        {isOfStaff && (
          <Button disabled={handOver.isPending} onClick={() => handOver.mutate("agent")}>
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
      {write.isError && <ErrorNotice error={write.error} />}
      <form className="composer" onSubmit={send}>
        <label className="visually-hidden" htmlFor="author">
          Your name
        </label>
        <input
          id="author"
          className="input desk-author"
          maxLength={128}
          placeholder="Your name"
          value={author}
          onChange={(event) => setAuthor(event.target.value)}
        />
        <label className="visually-hidden" htmlFor="staff-message">
          Message to the user
        </label>
        <textarea
          id="staff-message"
          className="input"
          rows={1}
          dir="auto"
          maxLength={32_000}
          placeholder="Write to the user"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) send(event);
          }}
        />
        <Button kind="primary" type="submit" disabled={text.trim() === "" || write.isPending}>
          <Icon name="send" /> <span>Send</span>
        </Button>
      </form>
      <Notes conversationId={id} author={name} />
    </section>
  );
};
