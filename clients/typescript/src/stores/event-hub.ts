import type { ConnectionError } from "../errors.js";
import type { LogEvent } from "../events.js";
import type { Client } from "../index.js";
import { sleep } from "../pause.js";
import { RETRY_INTERVAL } from "./recover.js";

/** Receives the events of the log. */
export interface EventListener {
  onEvent(event: LogEvent): void;
  /** Called if events were missed: read again what is shown. */
  onReload?(): void;
  /** Called when the service has rejected the request for events; no further events follow. */
  onError?(error: unknown): void;
}

/** One stream of events for all stores of a client, since browsers limit the connections to a server. */
interface EventHub {
  /**
   * Calls `listener` for each event until `signal` aborts. Resolves as `ready`: what is read from
   * then on is followed by all later events.
   */
  join(listener: EventListener, signal: AbortSignal): Promise<boolean>;
  /** Resolves to true once the position of the log is known, and to false if events cannot be followed, or not yet. */
  ready(): Promise<boolean>;
}

const createEventHub = (client: Client): EventHub => {
  const listeners = new Set<EventListener>();
  let stream: { position: Promise<number>; closing: AbortController } | undefined;

  const notify = (call: (listener: EventListener) => void): void => {
    for (const listener of [...listeners]) {
      try {
        call(listener);
      } catch (error) {
        // The other listeners still receive this and later events.
        console.error(error);
      }
    }
  };
  const onReload = (): void => notify((listener) => listener.onReload?.());

  const open = (): void => {
    const closing = new AbortController();
    const { signal } = closing;
    const readPosition = async (): Promise<number> => (await client.events.list({ limit: 1 }, { signal })).headSeq;
    const opened = (stream = { position: readPosition(), closing });

    /** Waits until the service can be reached. */
    const retryPosition = async (error: unknown): Promise<number> => {
      if (!(error as Partial<ConnectionError>).retryable) throw error;
      await sleep(RETRY_INTERVAL, signal, true);
      return readPosition().catch(retryPosition);
    };

    const follow = async (): Promise<void> => {
      const since = await opened.position.catch(async (error: unknown) => {
        const position = await retryPosition(error);
        opened.position = Promise.resolve(position);
        // What was read meanwhile, if anything, may have changed since.
        onReload();
        return position;
      });
      for await (const event of client.events({ since, signal, onReload })) notify((listener) => listener.onEvent(event));
    };
    follow().catch((error: unknown) => {
      if (stream === opened) stream = undefined;
      if (!signal.aborted) notify((listener) => listener.onError?.(error));
    });
  };

  const ready = async (): Promise<boolean> =>
    stream?.position.then(
      () => true,
      () => false,
    ) ?? false;

  const leave = (listener: EventListener): void => {
    listeners.delete(listener);
    // React unmounts and mounts again in strict mode, which is no reason to close the stream.
    setTimeout(() => {
      if (listeners.size > 0) return;
      stream?.closing.abort();
      stream = undefined;
    });
  };

  return {
    ready,
    join(listener, signal) {
      listeners.add(listener);
      signal.addEventListener("abort", () => leave(listener), { once: true });
      if (!stream) open();
      return ready();
    },
  };
};

const hubs = new WeakMap<Client, EventHub>();

/** Returns the stream of events that the stores of a client share. */
export const eventHubOf = (client: Client): EventHub => {
  const hub = hubs.get(client) ?? createEventHub(client);
  hubs.set(client, hub);
  return hub;
};
