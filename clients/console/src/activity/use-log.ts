import type { EventsOptions, LogEvent } from "agent-service-client";
import { useEffect, useState } from "react";
import { useSession } from "../session/session.js";

export type Filter = Pick<EventsOptions, "types" | "channels">;

/** The number of events that are kept. */
const KEPT = 500;
/** The number of events before the newest one that are read first. */
const EARLIER = 200;

interface Log {
  events: readonly LogEvent[];
  error: unknown;
  isLoading: boolean;
  /** Events are missing before this time, because the log no longer contained them. */
  hasGap: boolean;
}

const START: Log = { events: [], error: undefined, isLoading: true, hasGap: false };

/** Returns the newest events that fit, the newest first, and follows the log unless it is paused. */
export const useLog = (filter: Filter, isPaused: boolean): Log => {
  const { service } = useSession();
  const [log, setLog] = useState(START);
  const wanted = JSON.stringify(filter);

  useEffect(() => setLog(START), [service, wanted]);

  useEffect(() => {
    if (isPaused) return;
    const ended = new AbortController();
    const { signal } = ended;
    const chosen = JSON.parse(wanted) as Filter;
    const add = (event: LogEvent) =>
      setLog((known) => (known.events.some(({ seq }) => seq >= event.seq) ? known : { ...known, isLoading: false, events: [event, ...known.events].slice(0, KEPT) }));
    const follow = async () => {
      const { headSeq } = await service.events.list({ limit: 1 }, { signal });
      const since = Math.max(0, headSeq - EARLIER);
      setLog((known) => ({ ...known, isLoading: false }));
      const onReload = () => setLog((known) => ({ ...known, hasGap: true }));
      for await (const event of service.events({ ...chosen, since, signal, onReload })) add(event);
    };
    follow().catch((error: unknown) => {
      if (!signal.aborted) setLog((known) => ({ ...known, isLoading: false, error }));
    });
    return () => ended.abort();
  }, [service, wanted, isPaused]);

  return log;
};
