import { type ConnectionError, type Problem, reasonOf } from "../errors.js";
import { type EventsOptions, isWanted, type LogEvent } from "../events.js";
import type { Client } from "../index.js";
import { createStore } from "../store.js";
import { eventHubOf } from "./event-hub.js";
import { type Live, live } from "./live.js";

/** Selects events, like the options of `events` of the client. */
export type EventFilter = Pick<EventsOptions, "channels" | "types">;

/** The newest events, as a page shows them. */
export interface EventsState {
  /** The newest first. */
  events: readonly LogEvent[];
  status: "loading" | "ready" | "failed";
  error?: Problem | ConnectionError;
}

/** Returns the newest `limit` events since the first listener, and calls `receive` for each. */
export const liveEvents = (
  client: Client,
  filter: EventFilter = {},
  limit = 50,
  receive: (event: LogEvent) => void = () => {},
): Live<EventsState> => {
  const store = createStore<EventsState>({ events: [], status: "loading" });
  const fail = (error: unknown) => store.update(({ events }) => ({ events, status: "failed", error: reasonOf(error) }));
  const start = (signal: AbortSignal) => {
    const onEvent = (event: LogEvent) => {
      if (!isWanted(filter, event)) return;
      store.update(({ events }) => ({ events: [event, ...events].slice(0, limit), status: "ready" }));
      receive(event);
    };
    eventHubOf(client)
      .join({ onEvent, onError: fail }, signal)
      .then(() => store.update(({ events }) => ({ events, status: "ready" })))
      .catch(() => {});
  };
  return live(store, start);
};
