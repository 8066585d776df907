import { ConnectionError } from "../errors.js";
import type { LogEvent } from "../events.js";
import type { Client } from "../index.js";
import { sleep } from "../pause.js";

/** The time between two attempts to reach the service, in milliseconds. */
const RETRY_INTERVAL = 5_000;

/** Receives the events of the log. */
export interface EventListener {
  onEvent(event: LogEvent): void;
  /** Called if events were missed: read again what is shown. */
  onReload?(): void;
  /** Called when the service has rejected the request for events; no further events follow. */
  onError?(error: unknown): void;
}

/** One stream of events for all stores of a client, since browsers limit the connections to a server. */
class EventHub {
  readonly #client: Client;
  readonly #listeners = new Set<EventListener>();
  #stream: { position: Promise<number>; closing: AbortController } | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Calls `listener` for each event until `signal` aborts. Resolves as `ready`: what is read from
   * then on is followed by all later events.
   */
  join(listener: EventListener, signal: AbortSignal): Promise<boolean> {
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => this.#leave(listener), { once: true });
    this.#stream ??= this.#open();
    return this.ready();
  }

  /** Resolves to true once the position of the log is known, and to false if events cannot be followed, or not yet. */
  async ready(): Promise<boolean> {
    return this.#stream?.position.then(
      () => true,
      () => false,
    ) ?? false;
  }

  #leave(listener: EventListener): void {
    this.#listeners.delete(listener);
    // React unmounts and mounts again in strict mode, which is no reason to close the stream.
    setTimeout(() => {
      if (this.#listeners.size > 0) return;
      this.#stream?.closing.abort();
      this.#stream = undefined;
    });
  }

  #open() {
    const closing = new AbortController();
    const position = this.#readPosition(closing.signal);
    const stream = { position, closing };
    position
      .catch((error: unknown) => this.#retryPosition(error, closing.signal))
      .then((since) => this.#follow(since, closing.signal))
      .catch((error: unknown) => {
        if (this.#stream === stream) this.#stream = undefined;
        if (!closing.signal.aborted) this.#notify((listener) => listener.onError?.(error));
      });
    return stream;
  }

  async #readPosition(signal: AbortSignal): Promise<number> {
    return (await this.#client.events.list({ limit: 1 }, { signal })).headSeq;
  }

  /** Waits until the service can be reached. Its listeners could not read anything either. */
  async #retryPosition(error: unknown, signal: AbortSignal): Promise<number> {
    if (!(error instanceof ConnectionError)) throw error;
    await sleep(RETRY_INTERVAL, signal);
    const position = await this.#readPosition(signal).catch((next: unknown) => this.#retryPosition(next, signal));
    this.#notify((listener) => listener.onReload?.());
    return position;
  }

  async #follow(since: number, signal: AbortSignal): Promise<void> {
    const onReload = () => this.#notify((listener) => listener.onReload?.());
    for await (const event of this.#client.events({ since, signal, onReload })) this.#notify((listener) => listener.onEvent(event));
  }

  #notify(call: (listener: EventListener) => void): void {
    for (const listener of [...this.#listeners]) call(listener);
  }
}

const hubs = new WeakMap<Client, EventHub>();

/** Returns the stream of events that the stores of a client share. */
export const eventHubOf = (client: Client): EventHub => {
  const hub = hubs.get(client) ?? new EventHub(client);
  hubs.set(client, hub);
  return hub;
};
