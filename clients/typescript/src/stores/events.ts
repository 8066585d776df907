import { lost, type ServiceError } from "../errors.js";
import { type EventsOptions, isWanted, type LogEvent } from "../events.js";
import type { Client } from "../index.js";
import { createState, type LiveState } from "../state.js";
import { eventHubOf } from "./event-hub.js";
import { live } from "./live.js";

/** Selects events, like the options of `events` of the client. */
export type EventFilter = Pick<EventsOptions, "channels" | "types">;

/** The newest events, as a page shows them. */
export interface EventsState {
  /** The newest first. */
  events: readonly LogEvent[];
  status: "loading" | "ready" | "failed";
  error?: ServiceError | undefined;
}

/** Returns the newest `limit` events since the first listener, and calls `receive` for each. */
export const liveEvents = (
  client: Client,
  filter: EventFilter = {},
  limit = 50,
  receive: (event: LogEvent) => void = () => {},
): LiveState<EventsState> => {
  const shown = createState<EventsState>({ events: [], status: "loading" });
  const fail = (error: unknown) => shown.update((state) => ({ ...state, status: "failed", error: lost(error) }));
  const start = (signal: AbortSignal) => {
    const onEvent = (event: LogEvent) => {
      if (!isWanted(filter, event)) return;
      shown.update(({ events }) => ({ events: [event, ...events].slice(0, limit), status: "ready" }));
      receive(event);
    };
    const onReload = () => shown.update(({ events }) => ({ events, status: "ready" }));
    void eventHubOf(client)
      .join({ onEvent, onReload, onError: fail }, signal)
      .then((isFollowed) => isFollowed && onReload());
  };
  return live(shown, start);
};
