import { lost, type ServiceError } from "./errors.js";
import { type EventsOptions, followEvents, type LogEvent } from "./events.js";
import { randomId } from "./random-id.js";
import { createSharedConnection, type FeedFrame, type Pass, type SharedConnection, type TypingCommand } from "./shared-connection.js";
import { joinTabs, type Tabs } from "./tabs.js";
import type { Transport } from "./transport.js";

/** The leader shows that it is alive every 20 seconds, and answers at once. */
const HEARTBEAT = 20_000;
/** Browsers run the timers of hidden pages only once a minute. */
const SILENCE = 75_000;
const REPLY_TIMEOUT = 5_000;
/** The time in milliseconds within which it is not reported again that the user types. */
const REPORTED = 3_000;

type Message =
  /** A tab announces its channels, and the positions up to which it has received all events. */
  | { type: "follow"; tab: string; number: number; channels: Record<string, number>; isCheck: boolean }
  /** The leader serves the announcement. */
  | { type: "served"; leader: string; tab: string; number: number }
  /** A tab leads. */
  | { type: "leads"; leader: string }
  | TypingCommand
  | { type: "frame"; leader: string; frame: FeedFrame; channels: string[]; seq: number | undefined };

/** A frame for a subscription. No other follows `rejected` or `end`. */
export type ChannelFrame = FeedFrame | { type: "rejected"; error: ServiceError };

interface Subscription {
  channel: string;
  position: number;
  receive(received: ChannelFrame): void;
}

/** The events and live replies of channels, over one connection for all tabs of a browser. */
export interface Feed {
  /** Calls `receive` for each frame of a channel after the position `since`. Returns a function that ends this. */
  follow(channel: string, since: number, receive: (received: ChannelFrame) => void): () => void;
  /** Reports that the user types in a conversation, or has stopped; only over a socket that is open. */
  type(conversationId: string | undefined, isTyping: boolean): void;
  /** Returns the events of the log, over a connection of their own without sockets. */
  events(options?: EventsOptions): AsyncGenerator<LogEvent, void>;
}

/**
 * What a tab does. Each state ends when nothing is followed any more (left), or the page sleeps (asleep).
 *
 * | state | while | has | then |
 * |---|---|---|---|
 * | left | nothing is followed | | joining, to follow something |
 * | asleep | the page sleeps, so another tab must lead | | joining, once it wakes |
 * | joining | the principal is not known yet | | follower |
 * | follower | another tab leads, or is elected | `tabs` | leader, once elected or alone |
 * | leader | it serves all tabs; itself if it is alone | `tabs`, `connection` | follower, if another tab takes the lead |
 */
type State = "left" | "asleep" | "joining" | "follower" | "leader";

/**
 * The tabs elect a leader, which holds the connection and passes every frame on. Each tab
 * announces the positions of its subscriptions, ignores frames until the leader serves that
 * announcement, and ignores events up to its positions. So nothing is lost or repeated when a tab
 * subscribes, another tab leads, or the page has slept.
 */
export const createFeed = (transport: Transport, webSocket: typeof WebSocket | null): Feed => {
  const tab = randomId();
  const subscriptions = new Set<Subscription>();
  let state: State = "left";
  let listening: AbortController | undefined;
  let tabs: Tabs<Message> | undefined;
  let connection: SharedConnection | undefined;
  /** The number of the newest announcement, and the leader that serves it. */
  let number = 0;
  let leader = "";
  /** When it was last reported that the user types in a conversation; 0 if it has stopped. */
  const typedAt: Record<string, number> = {};
  /** Until a follower takes the lead, or the leader shows that it is alive. */
  let timer: ReturnType<typeof setTimeout> | undefined;

  const announce = (isCheck = false): void => {
    const channels: Record<string, number> = {};
    // A tab that leaves follows nothing.
    if (connection || state === "follower") {
      for (const { channel, position } of subscriptions) channels[channel] = Math.min(position, channels[channel] ?? Infinity);
    }
    number += 1;
    // Frames on their way answer an earlier announcement, and may follow a gap.
    leader = "";
    tabs?.post({ type: "follow", tab, number, channels, isCheck });
  };

  /** Takes the lead if the leader is silent. */
  const watch = (milliseconds: number): void => {
    if (state !== "follower") return;
    clearTimeout(timer);
    timer = setTimeout(() => tabs?.elect(true), milliseconds);
  };

  const showAlive = (): void => {
    tabs?.post({ type: "leads", leader: tab });
    timer = setTimeout(showAlive, HEARTBEAT);
  };

  const enter = (next: State): void => {
    state = next;
    clearTimeout(timer);
    connection?.close();
    connection = next === "leader" ? createSharedConnection(transport, webSocket, pass, rejected) : undefined;
    // The next leader, even this tab again, does not know the announcements so far.
    announce();
    watch(SILENCE);
    if (connection) showAlive();
    else if (next !== "follower") {
      tabs?.close();
      tabs = undefined;
    }
    if (next === "left") {
      listening?.abort();
      listening = undefined;
    }
  };

  const lead = (isLeader: boolean): void => {
    if (state === (isLeader ? "follower" : "leader")) enter(isLeader ? "leader" : "follower");
  };

  const pass: Pass = (frame, channels, seq) => tabs?.post({ type: "frame", leader: tab, frame, channels, seq });

  const end = (subscription: Subscription): void => {
    if (!subscriptions.delete(subscription)) return;
    announce();
    // A page that follows something else at once keeps the connection.
    setTimeout(() => {
      if (subscriptions.size === 0) enter("left");
    });
  };

  /** Ends the subscriptions of this tab; another tab may have a credential that is accepted. */
  const rejected = (error: ServiceError): void => {
    const ended = [...subscriptions];
    subscriptions.clear();
    enter("left");
    for (const { receive } of ended) receive({ type: "rejected", error });
  };

  const deliver = ({ frame, channels, seq }: Extract<Message, { type: "frame" }>): void => {
    if (frame.type === "event") transport.reached(frame.event.seq);
    for (const it of [...subscriptions]) {
      if (!channels.includes(it.channel) || (seq ?? Infinity) <= it.position) continue;
      it.position = seq ?? it.position;
      if (frame.type === "end") end(it);
      it.receive(frame);
    }
  };

  const receive = (message: Message): void => {
    if (message.type === "follow") {
      if (!connection) return;
      connection.serve(message.tab, message.channels);
      tabs?.post({ type: "served", leader: tab, tab: message.tab, number: message.number });
      // The tab has missed their beginnings.
      connection.repeat();
      if (message.isCheck) connection.send({ type: "ping" });
      return;
    }
    if (message.type === "typing") connection?.send(message);
    else watch(SILENCE);
    if (message.type === "leads" && message.leader !== leader) announce();
    if (message.type === "served" && message.tab === tab && message.number === number) leader = message.leader;
    if (message.type === "frame" && message.leader === leader) deliver(message);
  };

  const join = async (): Promise<void> => {
    const { signal } = (listening ??= listen());
    enter("joining");
    let identity: string[] | undefined;
    for (let attempt = 0; !identity; attempt += 1) {
      identity = await transport.identity().catch(() => undefined);
      if (!identity) await transport.pause(attempt, lost(), signal, Infinity).catch(() => {});
      if (signal.aborted || state !== "joining") return;
    }
    tabs = joinTabs<Message>(`agent-service:${identity.join(" ")}`, { lead, receive });
    enter("follower");
    tabs.elect();
  };

  /** Checks that the leader and its connection are alive. */
  const check = (): void => {
    announce(true);
    watch(REPLY_TIMEOUT);
  };

  const sleep = (): void => {
    if (state !== "left") enter("asleep");
  };

  const wake = (): void => {
    if (state === "asleep") void join();
    else check();
  };

  /** Follows the life of the page: one that sleeps must not lead, and one that wakes checks the connection. */
  const listen = (): AbortController => {
    const listener = new AbortController();
    const { document, window } = globalThis;
    const on = (target: EventTarget | undefined, name: string, run: () => unknown) => target?.addEventListener?.(name, run, listener);
    on(document, "freeze", sleep);
    on(window, "pagehide", sleep);
    on(document, "resume", wake);
    on(window, "pageshow", wake);
    on(window, "online", check);
    on(document, "visibilitychange", () => document.hidden || check());
    return listener;
  };

  const feed: Feed = {
    events: (options) => followEvents(transport, webSocket ? feed : undefined, options),
    type(conversationId, typing) {
      const at = typing ? Date.now() : 0;
      if (!conversationId || Math.abs(at - (typedAt[conversationId] ?? 0)) < REPORTED) return;
      typedAt[conversationId] = at;
      tabs?.post({ type: "typing", conversationId, typing });
    },
    follow(channel, since, receive) {
      const subscription = { channel, position: since, receive };
      subscriptions.add(subscription);
      if (state === "left") void join();
      else announce();
      return () => end(subscription);
    },
  };
  return feed;
};
