import type { components } from "agent-service-client";
import { Link } from "wouter";
import { AgentFilter } from "../agents/agent-filter.js";
import { AgentName } from "../agents/agent-name.js";
import { useScope, useSession } from "../session/session.js";
import { Empty, MissingScope } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
import { PagedList } from "../ui/paged-list.js";
import { Time } from "../ui/time.js";
import { useDebounced } from "../ui/use-debounced.js";
import { useFilter } from "../ui/use-filter.js";
import { RatingBadge, raterOf } from "./ratings.js";

type RatedMessage = components["schemas"]["RatedMessage"];

const Row = ({ rated }: { rated: RatedMessage }) => (
  <div className="list-row">
    <span className="list-main">
      <Link href={`/conversations/${rated.conversationId}?message=${rated.messageId}`} className="truncate" dir="auto">
        {rated.comment ?? "No comment"}
      </Link>
      <span className="muted small facts-line">
        <span>
          <AgentName id={rated.agentId} />
        </span>
        {rated.agentVersion != null && <span>version {rated.agentVersion}</span>}
        <span>{raterOf(rated)}</span>
      </span>
    </span>
    <span className="row list-tags">
      <RatingBadge rating={rated.rating} />
    </span>
    <span className="muted small list-time">
      <Time at={rated.updatedAt} />
    </span>
  </div>
);

/** The ratings of messages of all conversations. */
export const FeedbackPage = () => {
  const { service } = useSession();
  const [agentId, setAgentId] = useFilter("agentId");
  const [rating, setRating] = useFilter("rating");
  const filter = useDebounced(JSON.stringify({ ...(agentId.trim() && { agentId: agentId.trim() }), ...(rating && { rating }) }));
  if (!useScope("conversations:read")) return <MissingScope scope="conversations:read" />;
  return (
    <>
      <PageHeader title="Feedback" />
      <div className="filters">
        <AgentFilter value={agentId} onChange={setAgentId} />
        <label className="row">
          <input type="checkbox" checked={rating === "down"} onChange={({ target }) => setRating(target.checked ? "down" : "")} />
          Only bad
        </label>
      </div>
      <PagedList
        label="Feedback"
        queryKey={["feedback", filter]}
        load={async (page) => {
          const { data, ...rest } = await service.feedback.list({ ...page, ...JSON.parse(filter) });
          // Lists that are read again know their items by their ids.
          return { ...rest, data: data.map((rated) => ({ ...rated, id: `${rated.conversationId} ${rated.messageId} ${raterOf(rated)}` })) };
        }}
        keyOf={({ id }) => id}
        row={(rated) => <Row rated={rated} />}
        empty={
          filter === "{}" ? (
            <Empty title="No feedback yet">Ratings of messages appear here.</Empty>
          ) : (
            <Empty title="No feedback fits">Another agent may have some.</Empty>
          )
        }
      />
    </>
  );
};
