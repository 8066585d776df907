import { useInfiniteQuery } from "@tanstack/react-query";
import type { components } from "agent-service-client";
import { useRef } from "react";
import { DecisionError } from "../approvals/decision-error.js";
import { useDecide } from "../approvals/use-decide.js";
import { useHasMoved } from "../approvals/use-kept.js";
import { Reply } from "../chat/reply.js";
import { Ratings } from "../feedback/ratings.js";
import { MessageFiles } from "../files/message-files.js";
import { useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { Empty } from "../ui/notice.js";
import { pageState, QueryState } from "../ui/query-state.js";
import { Time } from "../ui/time.js";
import { LiveReply } from "./live-reply.js";
import { MatchedText } from "./matched-text.js";
import { useFound } from "./use-found.js";

type Message = components["schemas"]["Message"];
type OpenTurn = components["schemas"]["OpenTurn"];

const PAGE = 50;
/** The size of the pages in which a message is looked for. */
const LARGE_PAGE = 100;

/** A reply, with decisions about its calls that wait for staff. */
const DecidableReply = ({ message: { turnId, content, toolCalls = [] } }: { message: Message }) => {
  const reply = useRef<HTMLDivElement>(null);
  const hasMoved = useHasMoved(reply);
  // The button that had the focus is gone then.
  const { decide, error } = useDecide(turnId ?? "", hasMoved, () => reply.current?.focus());
  return (
    <div className="reply-part" ref={reply} tabIndex={-1}>
      <Reply turnId={turnId} text={content} toolCalls={toolCalls} decide={decide} />
      {error !== undefined && <DecisionError error={error} />}
    </div>
  );
};

interface MessageRowProps {
  message: Message;
  /** A search has found it. */
  isFound: boolean;
  search: string;
}

const MessageRow = ({ message, isFound, search }: MessageRowProps) => {
  const { id, role, turnId, content, toolCalls = [], files, author, engine, usage, error, createdAt } = message;
  return (
    <article
      id={`message-${id}`}
      className={`message ${role} ${isFound ? "is-found" : ""}`}
      aria-label={role === "user" ? "User" : (author?.name ?? "Agent")}
      {...(isFound && { tabIndex: -1, "aria-current": true })}
    >
      <MessageFiles files={files} />
      {role === "user" ? (
        content !== "" && (
          <div className="bubble user" dir="auto">
            {isFound ? <MatchedText text={content} search={search} /> : content}
          </div>
        )
      ) : toolCalls.length > 0 ? (
        <DecidableReply message={message} />
      ) : (
        <Reply turnId={turnId} text={content} toolCalls={toolCalls} />
      )}
      <div className="facts-line small muted message-foot">
        <Time at={createdAt} />
        {author !== undefined && <span>{author.name}</span>}
        {engine !== undefined && <span>{engine}</span>}
        {usage != null && (
          <span>
            {usage.inputTokens} + {usage.outputTokens} tokens
          </span>
        )}
        {role === "agent" && <Ratings message={message} />}
        {error !== undefined && (
          <span className="fault">
            {error.title} <code>{error.code}</code>
          </span>
        )}
      </div>
    </article>
  );
};

interface MessagesProps {
  id: string;
  openTurn: OpenTurn | undefined;
  /** The message that a search has found, and the search. */
  found: string | undefined;
  search: string;
}

/** The newest messages, older ones on request or up to the one that was found, and the reply that is being written. */
export const Messages = ({ id, openTurn, found, search }: MessagesProps) => {
  const { service } = useSession();
  const query = useInfiniteQuery({
    queryKey: ["conversation", id, "messages"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) =>
      service.conversations.listMessages(id, {
        order: "desc",
        limit: found === undefined ? PAGE : LARGE_PAGE,
        ...(pageParam === undefined ? {} : { cursor: pageParam }),
      }),
    getNextPageParam: (page) => (page.hasMore ? (page.nextCursor ?? undefined) : undefined),
  });
  const looking = useFound(found, query);
  if (query.data === undefined) return <QueryState query={query} />;
  // One that waits is stored up to its question.
  const live = openTurn?.status === "requires_action" ? undefined : openTurn?.id;
  const stored = query.data.pages.flatMap((page) => page.data).reverse();
  const messages = stored.filter(({ role, turnId }) => role !== "agent" || live === undefined || turnId !== live);
  if (messages.length === 0) return <Empty title="No messages yet" />;
  return (
    <div className="messages" role="log" aria-label="Messages">
      <QueryState query={pageState(query)} />
      {looking !== undefined && (
        <p className="notice warn" role="status">
          {looking === "going on" ? "Looking for the message that was found…" : "The message that was found is no longer here."}
        </p>
      )}
      {query.hasNextPage && (
        <Button className="load-more" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Older messages
        </Button>
      )}
      {messages.map((message) => (
        <MessageRow key={message.id} message={message} isFound={message.id === found} search={search} />
      ))}
      {live !== undefined && <LiveReply key={live} turnId={live} conversationId={id} />}
    </div>
  );
};
