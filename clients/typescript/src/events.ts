import { lost, ProblemError } from "./errors.js";
import type { ChannelFrame, Feed } from "./feed.js";
import type { components as Frames } from "./generated/frames.js";
import type { components } from "./generated/schema.js";
import { within } from "./pause.js";
import { readEvents } from "./sse.js";
import type { Transport } from "./transport.js";

/** The record of one change. */
export type LogEvent = components["schemas"]["Event"];

/** Who types in which conversation. Without a further update the report is over after a few seconds. */
export type Typing = Pick<Frames["schemas"]["LiveTypingUpdated"], "conversationId" | "actor" | "typing">;

export interface EventsOptions {
  /** The position after which the events start: 0 for the oldest. The next event by default. */
  since?: number | undefined;
  /** Only events of these channels: `tenant` (all), `agent:<id>` or `conversation:<id>`. */
  channels?: string[] | undefined;
  /** Only events of these types. */
  types?: LogEvent["type"][] | undefined;
  /** Called if events were missed, because the log no longer reaches back: read again what is shown. */
  onReload?: (() => void) | undefined;
  /** Called when somebody types in a conversation of `channels`, or has stopped; not without sockets. */
  onTyping?: ((update: Typing) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Returns the only channel of the options; the one with all events if there are several. */
const channelOf = ({ channels }: EventsOptions): string => (channels?.length === 1 ? (channels[0] as string) : "tenant");

/** Returns the query for the past events of a channel. */
const queryOf = (channel: string, { types }: EventsOptions) => {
  const [name, id] = channel.split(":");
  return { [`${name}Id`]: id, types: types?.join() };
};

/** Returns true if an event is of the channels and types. */
export const isWanted = (
  { channels, types }: Pick<EventsOptions, "channels" | "types">,
  { agentId, type, conversationId }: LogEvent & { conversationId?: string | undefined },
): boolean => {
  const own = ["tenant", `agent:${agentId}`, `conversation:${conversationId}`];
  return (channels?.some((channel) => own.includes(channel)) ?? true) && (types?.includes(type) ?? true);
};

/**
 * Returns the events of the log in their order, each once. Lost connections are replaced until
 * `signal` aborts or the service rejects the request for good. With a `feed`, past events are read
 * as pages, and new ones come over the connection that all tabs share.
 */
export async function* followEvents(
  transport: Transport,
  feed: Feed | undefined,
  options: EventsOptions = {},
): AsyncGenerator<LogEvent, void> {
  for await (const event of feed ? sharedEvents(transport, feed, options) : streamEvents(transport, options, options.onReload)) {
    if (isWanted(options, event)) yield event;
  }
}

async function* sharedEvents(transport: Transport, feed: Feed, options: EventsOptions): AsyncGenerator<LogEvent, void> {
  const { signal, onReload, onTyping } = options;
  let { since } = options;
  // Several channels would be replayed one after the other, and not in the order of their events.
  const channel = channelOf(options);
  for (;;) {
    try {
      for (let hasMore = true; hasMore; ) {
        const query = { ...queryOf(channel, options), since, limit: 100 };
        const request = { path: "/api/events", query, signal, retries: Infinity };
        const page = await transport.send<components["schemas"]["EventPageBody"]>(request, (response) => response.json());
        yield* page.data;
        ({ nextSince: since, hasMore } = page);
        transport.reached(since);
      }
    } catch (error) {
      if (lost(error).code !== "cursor_expired") throw error;
      since = undefined;
      onReload?.();
      continue;
    }
    for await (const received of follow(feed, channel, since ?? 0, signal)) {
      if (received.type === "rejected") throw received.error;
      if (received.type === "end") {
        if (received.problem) throw new ProblemError(received.problem);
        return;
      }
      // Too many events came meanwhile: the pages have them.
      if (received.type === "resync") break;
      if (received.type === "live" && "typing" in received.event) onTyping?.(received.event);
      if (received.type !== "event") continue;
      since = received.event.seq;
      yield received.event;
    }
  }
}

/** Returns what a channel receives, until the reader stops or `signal` aborts. */
async function* follow(feed: Feed, channel: string, since: number, signal: AbortSignal | undefined): AsyncGenerator<ChannelFrame, never> {
  const waiting: ChannelFrame[] = [];
  let wake = () => {};
  const stop = feed.follow(channel, since, (received) => {
    waiting.push(received);
    wake();
  });
  try {
    for (;;) {
      signal?.throwIfAborted();
      const received = waiting.shift();
      if (received) yield received;
      else await within(new Promise<void>((resolve) => (wake = resolve)), signal);
    }
  } finally {
    stop();
  }
}

/** Returns the events of the log as a stream of server-sent events. */
export async function* streamEvents(
  transport: Transport,
  options: EventsOptions,
  onResync?: (headSeq: number) => void,
): AsyncGenerator<LogEvent, void> {
  const { since, signal } = options;
  let position = since === undefined ? undefined : String(since);
  const query = { since, ...queryOf(channelOf(options), options) };
  for (let attempt = 0; ; attempt += 1) {
    let error: unknown;
    try {
      const headers = { Accept: "text/event-stream", "Last-Event-ID": position };
      const { body } = await transport.send({ path: "/api/events", query, headers, signal });
      for await (const { event, data } of readEvents(body, (id) => transport.reached(Number((position = id))))) {
        attempt = 0;
        if (event === "resync") onResync?.((JSON.parse(data) as { headSeq: number }).headSeq);
        else yield JSON.parse(data) as LogEvent;
      }
    } catch (caught) {
      signal?.throwIfAborted();
      error = caught;
    }
    error = lost(error);
    if (!(await transport.pause(attempt, error, signal, Infinity))) throw error;
  }
}
