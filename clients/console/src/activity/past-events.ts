import type { Client, EventsOptions, LogEvent } from "agent-service-client";

export type Filter = Pick<EventsOptions, "types"> & { agentId?: string; conversationId?: string };

const PAGE = 100;

/** Reads the events after `start`, up to and including `end`, the newest first. */
const read = async ({ events }: Client, { types, ...ids }: Filter, start: number, end: number): Promise<LogEvent[]> => {
  const found: LogEvent[] = [];
  for (let since = start; since < end; ) {
    const page = await events.list({ since, limit: PAGE, ...ids, ...(types === undefined ? {} : { types: types.join() }) });
    found.unshift(...page.data.filter(({ seq }) => seq <= end).reverse());
    if (!page.hasMore) break;
    since = page.nextSince;
  }
  return found;
};

/** Reads events up to `end`, in steps that double until `wanted` ones are found or the log begins. */
export const eventsBefore = async (service: Client, filter: Filter, end: number, step: number, wanted: number) => {
  const events: LogEvent[] = [];
  let since = end;
  for (let size = step; since > 0 && events.length < wanted; size *= 2) {
    const start = Math.max(0, since - size);
    events.push(...(await read(service, filter, start, since)));
    since = start;
  }
  return { events, since };
};
