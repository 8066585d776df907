import { lost, type ServiceError } from "./errors.js";
import type { Command, components, ServerFrame } from "./generated/frames.js";
import { sleep } from "./pause.js";
import type { Connection, ConnectionEvents } from "./shared-connection.js";
import type { Transport } from "./transport.js";

/** The service sends at least a ping every 25 seconds, and answers one at once. */
const SILENCE = 40_000;
const REPLY_TIMEOUT = 5_000;
/** The number of attempts after which the network is taken to allow no sockets. */
const ATTEMPTS = 3;

type Goodbye = components["schemas"]["GoodbyeFrame"];
type WithoutId<Frame> = Frame extends { id: number } ? Omit<Frame, "id"> : never;

/** Opens a WebSocket, and replaces it whenever it is lost. */
export const openSocket = (transport: Transport, webSocket: typeof WebSocket, events: ConnectionEvents): Connection => {
  const closing = new AbortController();
  const { signal } = closing;
  let socket: WebSocket | undefined;
  let id = 0;
  let watchdog: ReturnType<typeof setTimeout> | undefined;
  let refresh: ReturnType<typeof setTimeout> | undefined;
  /** Gives up the current socket, which may never close by itself. */
  let drop = () => {};

  /** Sends a command if there is a connection. Subscriptions are repeated once there is one. */
  const send = (command: WithoutId<Command>): number => {
    id += 1;
    socket?.send(JSON.stringify({ id, ...command }));
    return id;
  };

  const watch = (milliseconds: number): void => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => drop(), milliseconds);
  };

  /** Sends a new token before the current one expires. */
  const keepCredential = async (): Promise<void> => {
    const lifetime = (await transport.lifetime().catch(() => {})) ?? 0;
    if (lifetime < 1000 || !socket) return;
    clearTimeout(refresh);
    const renew = async () => {
      // Without a new one the service closes the socket, and the next ticket shows why.
      const token = await transport.renew().catch(() => {});
      if (!token) return;
      send({ type: "refresh", token });
      await keepCredential();
    };
    refresh = setTimeout(renew, Math.min(0.9 * lifetime, 2 ** 31 - 1));
  };

  /** Connects with a ticket; resolves once the socket is closed. */
  const connect = (ticket: string): Promise<[hasConnected: boolean, goodbye: Goodbye | undefined]> =>
    new Promise((resolve) => {
      const opened = new webSocket(`${transport.base().replace(/^http/, "ws")}/api/ws?ticket=${ticket}`, "agent-service.v1");
      let hasConnected = false;
      let goodbye: Goodbye | undefined;
      drop = () => {
        clearTimeout(watchdog);
        clearTimeout(refresh);
        socket = undefined;
        opened.onmessage = opened.onclose = null;
        opened.close();
        resolve([hasConnected, goodbye]);
      };
      opened.onopen = () => opened.send(JSON.stringify({ id: 0, type: "connect", channels: [] } satisfies Command));
      opened.onclose = drop;
      opened.onerror = () => {};
      opened.onmessage = ({ data }) => {
        watch(SILENCE);
        const frame = JSON.parse(data as string) as ServerFrame;
        if (frame.type === "goodbye") goodbye = frame;
        else if (frame.type !== "reply" || frame.id !== 0) events.frame(frame);
        else if (frame.ok) {
          hasConnected = true;
          socket = opened;
          void keepCredential();
          events.connected();
        }
      };
      // Some proxies accept a socket and never open it.
      watch(2 * REPLY_TIMEOUT);
    });

  const run = async (): Promise<void> => {
    let failures = 0;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      let error: unknown;
      try {
        const { ticket } = await transport.send<{ ticket: string }>({ method: "POST", path: "/api/ws/tickets", signal }, (response) =>
          response.json(),
        );
        if (signal.aborted) return;
        const [hasConnected, goodbye] = await connect(ticket);
        if (signal.aborted) return;
        failures += 1;
        if (hasConnected) failures = attempt = 0;
        const wait = goodbye?.reconnectAfterMs;
        // After 4001 and 4003, of a credential that is no longer valid, the next ticket shows if it is rejected for good.
        if (failures === ATTEMPTS || (goodbye && wait == null && !/400[13]/.test(`${goodbye.code}`)))
          return events.unusable(goodbye ?? lost());
        if (wait != null) {
          await sleep(wait, signal);
          continue;
        }
      } catch (caught) {
        error = caught;
        // It is not of the request: no socket could be created.
        if (lost(error) !== error && !signal.aborted) return events.unusable(error);
      }
      error = lost(error);
      const mayRetry = await transport.pause(attempt, error, signal, Infinity).catch(() => true);
      if (!mayRetry) return events.rejected(error as ServiceError);
    }
  };
  void run();

  return {
    subscribe: (channel, since) => send({ type: "subscribe", channel, since }),
    unsubscribe: (channel) => void send({ type: "unsubscribe", channel }),
    send(command) {
      send(command);
      if (socket && command.type === "ping") watch(REPLY_TIMEOUT);
    },
    close() {
      closing.abort();
      drop();
    },
  };
};
