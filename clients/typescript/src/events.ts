import { ConnectionError, ProblemError } from "./errors.js";
import type { Feed, Received } from "./feed.js";
import type { components } from "./generated/schema.js";
import type { Rest } from "./rest.js";
import { readEvents } from "./sse.js";
import type { Transport } from "./transport.js";

/** The record of one change. */
export type LogEvent = components["schemas"]["Event"];

export interface EventsOptions {
  /** The position after which the events start: 0 for the oldest. The next event by default. */
  since?: number;
  /** Only events of these channels: `tenant` (all), `agent:<id>` or `conversation:<id>`. */
  channels?: string[];
  /** Only events of these types. */
  types?: LogEvent["type"][];
  /** Called if events were missed, because the log no longer reaches back: read again what is shown. */
  onReload?: () => void;
  signal?: AbortSignal;
}

/** Returns the query that selects a channel; one for all events if there are several. */
const queryOf = (channels: string[] = []) => {
  const [name, id] = channels.length === 1 ? (channels[0]?.split(":") ?? []) : [];
  return { ...(name === "agent" ? { agentId: id } : {}), ...(name === "conversation" ? { conversationId: id } : {}) };
};

const isWanted = ({ channels, types }: EventsOptions, event: LogEvent): boolean => {
  const own = ["tenant", `agent:${event.agentId}`, `conversation:${"conversationId" in event ? event.conversationId : ""}`];
  return (channels?.some((channel) => own.includes(channel)) ?? true) && (types?.includes(event.type) ?? true);
};

/**
 * Returns the events of the log in their order, each once. Lost connections are replaced until
 * `signal` aborts or the service rejects the request for good. With a `feed`, past events are read
 * as pages, and new ones come over the connection that all tabs share.
 */
export async function* followEvents(
  transport: Transport,
  rest: Rest,
  feed: Feed | undefined,
  options: EventsOptions = {},
): AsyncGenerator<LogEvent, void> {
  const { channels = [], types, signal, onReload } = options;
  let { since } = options;
  if (feed === undefined) {
    for await (const event of streamEvents(transport, options, onReload)) if (isWanted(options, event)) yield event;
    return;
  }
  for (;;) {
    const query = { ...queryOf(channels), ...(types ? { types: types.join() } : {}), limit: 100 };
    try {
      for (let hasMore = true; hasMore; ) {
        const page = await rest.events.list({ ...query, ...(since === undefined ? {} : { since }) }, signal ? { signal } : {});
        for (const event of page.data) if (isWanted(options, event)) yield event;
        ({ nextSince: since, hasMore } = page);
      }
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "cursor_expired") throw error;
      since = undefined;
      onReload?.();
      continue;
    }
    // Several channels are replayed apart, so their order is that of the channel with all events.
    const channel = channels.length === 1 ? (channels[0] ?? "") : "tenant";
    for await (const received of follow(feed, channel, since ?? 0, signal)) {
      if (received.type === "rejected") throw received.error;
      if (received.type === "end" && received.problem) throw new ProblemError(received.problem);
      if (received.type === "end") return;
      // Too many events came meanwhile: the pages have them.
      if (received.type === "resync") break;
      if (received.type !== "event") continue;
      since = received.event.seq;
      if (isWanted(options, received.event)) yield received.event;
    }
  }
}

/** Returns what a channel receives, until the reader stops or `signal` aborts. */
async function* follow(feed: Feed, channel: string, since: number, signal: AbortSignal | undefined) {
  const waiting: Received[] = [];
  let wake = () => {};
  const stop = feed.follow(channel, since, (received) => {
    waiting.push(received);
    wake();
  });
  const abort = () => wake();
  signal?.addEventListener("abort", abort);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const received = waiting.shift();
      if (received) yield received;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    signal?.removeEventListener("abort", abort);
    stop();
  }
}

/** Returns the events of the log as a stream of server-sent events. */
export async function* streamEvents(
  transport: Transport,
  { since, channels, types, signal }: EventsOptions,
  onResync?: (headSeq: number) => void,
): AsyncGenerator<LogEvent, void> {
  let position = since === undefined ? undefined : String(since);
  const query = { since: position, types: types?.join(), ...queryOf(channels) };
  for (let attempt = 0; ; attempt += 1) {
    let error: unknown;
    try {
      const headers = { Accept: "text/event-stream", ...(position === undefined ? {} : { "Last-Event-ID": position }) };
      const request = { method: "GET", path: "/api/events", query, headers, ...(signal ? { signal } : {}) };
      const { body } = await transport.send(request);
      if (body === null) throw new ConnectionError("the response has no body");
      for await (const { event, data } of readEvents(body, (id) => (position = id))) {
        attempt = 0;
        if (event === "resync") onResync?.((JSON.parse(data) as { headSeq: number }).headSeq);
        else yield JSON.parse(data) as LogEvent;
      }
      error = new ConnectionError("the stream of events was cut");
    } catch (caught) {
      signal?.throwIfAborted();
      error = caught instanceof ProblemError ? caught : new ConnectionError("the stream of events was cut", { cause: caught });
    }
    if (!(await transport.pause(attempt, error, signal, Infinity))) throw error;
  }
}
