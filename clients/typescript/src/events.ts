import { ConnectionError, ProblemError } from "./errors.js";
import type { components } from "./generated/schema.js";
import { readEvents } from "./sse.js";
import type { Transport } from "./transport.js";

/** The record of one change. */
export type LogEvent = components["schemas"]["Event"];

export interface EventsOptions {
  /** The position after which the events start: 0 for the oldest. The next event by default. */
  since?: number;
  /** Only events of these types. */
  types?: LogEvent["type"][];
  agentId?: string;
  conversationId?: string;
  /** Called if events were missed, because the log no longer reaches back: read again what is shown. */
  onReload?: () => void;
  signal?: AbortSignal;
}

/**
 * Returns the events of the log in their order, each once. Lost connections are replaced until
 * `signal` aborts or the service rejects the request for good.
 */
export async function* followEvents(
  transport: Transport,
  { since, types, agentId, conversationId, onReload, signal }: EventsOptions = {},
): AsyncGenerator<LogEvent, void> {
  let position = since === undefined ? undefined : String(since);
  const query = { since: position, types: types?.join(), agentId, conversationId };
  for (let attempt = 0; ; attempt += 1) {
    let error: unknown;
    try {
      const headers = { Accept: "text/event-stream", ...(position === undefined ? {} : { "Last-Event-ID": position }) };
      const request = { method: "GET", path: "/api/events", query, headers, ...(signal ? { signal } : {}) };
      const { body } = await transport.send(request);
      if (body === null) throw new ConnectionError("the response has no body");
      for await (const { event, data } of readEvents(body, (id) => (position = id))) {
        attempt = 0;
        if (event === "resync") onReload?.();
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
