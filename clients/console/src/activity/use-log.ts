import { type EventsOptions, type LogEvent, ProblemError } from "agent-service-client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useSession } from "../session/session.js";
import { eventsBefore, type Filter } from "./past-events.js";

/** The number of events that are kept, besides earlier ones that were asked for. */
const KEPT = 500;
/** The number of positions before the newest event that are read first. */
const EARLIER = 200;
/** The number of events that a request for earlier ones finds, if there are so many. */
const WANTED = 50;

interface Log {
  /** The newest first. */
  events: readonly LogEvent[];
  /** All events after this position are known. */
  since: number;
  kept: number;
  error: unknown;
  isLoading: boolean;
  /** Older events are no longer in the log. */
  hasGap: boolean;
}

const START: Log = { events: [], since: 0, kept: KEPT, error: undefined, isLoading: true, hasGap: false };

const withNew = (log: Log, event: LogEvent): Log =>
  (log.events[0]?.seq ?? 0) >= event.seq ? log : { ...log, events: [event, ...log.events].slice(0, log.kept) };

/** Returns the newest events that fit, and follows the log unless it is paused. */
export const useLog = (filter: Filter, isPaused: boolean) => {
  const { service } = useSession();
  const [log, setLog] = useState(START);
  const newest = useRef(0);
  newest.current = log.events[0]?.seq ?? 0;
  const wanted = JSON.stringify(filter);

  useEffect(() => {
    if (isPaused) return;
    const ended = new AbortController();
    const { signal } = ended;
    const { types, agentId, conversationId } = JSON.parse(wanted) as Filter;
    // A conversation has one agent, so its id is enough.
    const channel = conversationId !== undefined ? `conversation:${conversationId}` : agentId !== undefined ? `agent:${agentId}` : "tenant";
    const chosen: EventsOptions = { channels: [channel], ...(types === undefined ? {} : { types }) };
    const follow = async () => {
      const { headSeq } = await service.events.list({ limit: 1 }, { signal });
      const start = Math.max(0, headSeq - EARLIER);
      const since = Math.max(start, newest.current);
      // Too many events came during a pause: the list begins anew.
      setLog((known) =>
        newest.current >= start && newest.current > 0 ? { ...known, error: undefined } : { ...START, since: start, isLoading: false },
      );
      const onReload = () => setLog((known) => ({ ...known, hasGap: true }));
      for await (const event of service.events({ ...chosen, since, signal, onReload })) setLog((known) => withNew(known, event));
    };
    follow().catch((error: unknown) => {
      if (!signal.aborted) setLog((known) => ({ ...known, isLoading: false, error }));
    });
    return () => ended.abort();
  }, [service, wanted, isPaused]);

  const [isReading, setIsReading] = useState(false);
  const { since } = log;
  const readEarlier = useCallback(async () => {
    setIsReading(true);
    try {
      const found = await eventsBefore(service, JSON.parse(wanted) as Filter, since, EARLIER, WANTED);
      setLog((known) => ({
        ...known,
        since: found.since,
        kept: known.kept + found.events.length,
        events: [...known.events, ...found.events],
      }));
    } catch (error) {
      const isGone = error instanceof ProblemError && error.code === "cursor_expired";
      setLog((known) => (isGone ? { ...known, since: 0, hasGap: true } : { ...known, error }));
    }
    setIsReading(false);
  }, [service, wanted, since]);
  return { ...log, isReading, hasEarlier: since > 0 && !log.isLoading, readEarlier };
};
