import type { LogEvent } from "agent-service-client";
import { useState } from "react";
import { Link } from "wouter";
import { AgentFilter } from "../agents/agent-filter.js";
import { serviceUrl } from "../location.js";
import { useScope } from "../session/session.js";
import { Badge, type Tone } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy.js";
import { Details } from "../ui/details.js";
import { Icon } from "../ui/icon.js";
import { Empty, ErrorNotice, Loading, MissingScope } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
import { Search } from "../ui/search.js";
import { Clock } from "../ui/time.js";
import { useDebounced } from "../ui/use-debounced.js";
import { useFilter } from "../ui/use-filter.js";
import type { Filter } from "./past-events.js";
import { useLog } from "./use-log.js";
import { type Names, useNames } from "./use-names.js";

const TYPES: readonly LogEvent["type"][] = [
  "agent.created",
  "agent.updated",
  "agent.deleted",
  "conversation.created",
  "conversation.updated",
  "conversation.deleted",
  "turn.queued",
  "turn.started",
  "turn.requires_action",
  "turn.resumed",
  "turn.completed",
  "turn.failed",
  "turn.cancelled",
  "messages.superseded",
  "message.created",
  "message.updated",
  "message.deleted",
  "note.created",
  "note.deleted",
  "message.rated",
  "user.updated",
  "user.erased",
];

/** The number of events that are shown first, and that a button adds. */
const PAGE = 50;

const toneOf = (type: string): Tone =>
  type === "turn.failed"
    ? "danger"
    : type.endsWith(".deleted") || type === "user.erased" || type === "turn.cancelled"
      ? "warn"
      : type === "turn.completed"
        ? "ok"
        : "neutral";

/** Returns a command that repeats a request; the key stays in a variable. */
const curl = (query: Record<string, string | number | undefined>, flags = "-sS"): string => {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  const accept = flags.includes("N") ? " -H 'Accept: text/event-stream'" : "";
  return `curl ${flags} -H "X-API-Key: $KEY"${accept} '${serviceUrl}/api/events?${new URLSearchParams(given)}'`;
};

const EventRow = ({ event, names }: { event: LogEvent; names: Names }) => (
  <Details
    className="event"
    summary={
      <>
        <span className="mono muted event-seq">{event.seq}</span>
        <Badge tone={toneOf(event.type)}>{event.type}</Badge>
        <span className="truncate small event-subject">
          {event.agentId !== undefined && <bdi>{names.agents.get(event.agentId) ?? event.agentId}</bdi>}{" "}
          <span className="muted">
            by <bdi>{names.actors.get(event.actor) ?? event.actor}</bdi>
          </span>
        </span>
        <Clock at={event.time} />
      </>
    }
  >
    <div className="stack-s">
      <div className="row">
        <CopyButton text={() => curl({ since: event.seq - 1, limit: 1 })} label="Copy as curl" />
        <CopyButton text={() => JSON.stringify(event, null, 2)} label="Copy JSON" />
        {event.agentId !== undefined && <Link href={`/agents/${event.agentId}`}>Agent</Link>}
        {event.conversationId !== undefined && <Link href={`/conversations/${event.conversationId}`}>Conversation</Link>}
      </div>
      <pre className="code" role="region" aria-label={`Event ${event.seq}`} tabIndex={0}>
        {JSON.stringify(event, null, 2)}
      </pre>
    </div>
  </Details>
);

const Log = ({ filter, isPaused }: { filter: Filter; isPaused: boolean }) => {
  const { events, error, isLoading, hasGap, hasEarlier, isReading, readEarlier } = useLog(filter, isPaused);
  const [shown, setShown] = useState(PAGE);
  const names = useNames(events.slice(0, shown));
  const showMore = () => {
    setShown(shown + PAGE);
    if (events.length < shown + PAGE && hasEarlier) void readEarlier();
  };
  return (
    <>
      {error !== undefined && <ErrorNotice error={error} />}
      {isLoading && <Loading />}
      {!isLoading && events.length === 0 && error === undefined && (
        <Empty title={hasEarlier ? "No recent events" : "No events yet"}>
          {isPaused ? "Continue to see new events." : "New events appear here at once."}
        </Empty>
      )}
      {events.length > 0 && (
        <ul className="list" aria-label="Events">
          {events.slice(0, shown).map((event) => (
            <li key={event.seq}>
              <EventRow event={event} names={names} />
            </li>
          ))}
        </ul>
      )}
      {hasGap && <p className="notice warn">Older events are no longer in the log.</p>}
      {(events.length > shown || hasEarlier) && (
        <Button className="load-more" disabled={isReading} aria-busy={isReading} onClick={showMore}>
          Earlier events
        </Button>
      )}
    </>
  );
};

/** The event log, live. */
export const ActivityPage = () => {
  const [type, setType] = useFilter("type");
  const [agentId, setAgentId] = useFilter("agentId");
  const [conversationId, setConversationId] = useFilter("conversationId");
  const [isPaused, setIsPaused] = useState(false);
  const ids = useDebounced(JSON.stringify([agentId.trim(), conversationId.trim()]));
  if (!useScope("events:read")) return <MissingScope scope="events:read" />;
  const [agent, conversation] = JSON.parse(ids) as [string, string];
  const types = TYPES.filter((known) => known === type || known.startsWith(`${type}.`));
  const filter: Filter = {
    ...(type === "" ? {} : { types }),
    ...(agent === "" ? {} : { agentId: agent }),
    ...(conversation === "" ? {} : { conversationId: conversation }),
  };
  return (
    <>
      <PageHeader title="Activity" status={<Badge tone={isPaused ? "warn" : "ok"}>{isPaused ? "paused" : "live"}</Badge>}>
        <CopyButton
          text={() =>
            curl({ since: 0, types: filter.types?.join(), agentId: agent || undefined, conversationId: conversation || undefined }, "-sSN")
          }
          label="Copy the stream as curl"
        />
        <Button className="small-button" onClick={() => setIsPaused(!isPaused)}>
          <Icon name={isPaused ? "play" : "pause"} size={16} /> {isPaused ? "Continue" : "Pause"}
        </Button>
      </PageHeader>
      <div className="filters">
        <label className="search">
          <span className="small muted">Type</span>
          <select className="input" value={type} onChange={(event) => setType(event.target.value)}>
            <option value="">All</option>
            <option value="agent">agent.*</option>
            <option value="conversation">conversation.*</option>
            <option value="turn">turn.*</option>
            {TYPES.map((known) => (
              <option key={known}>{known}</option>
            ))}
          </select>
        </label>
        <AgentFilter value={agentId} onChange={setAgentId} />
        <Search label="Conversation id" value={conversationId} onChange={setConversationId} placeholder="All conversations" />
      </div>
      <Log key={JSON.stringify(filter)} filter={filter} isPaused={isPaused} />
    </>
  );
};
