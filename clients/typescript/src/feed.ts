import { ConnectionError, type ProblemError } from "./errors.js";
import { randomId } from "./random-id.js";
import { createSharedConnection, type FeedFrame, type SharedConnection } from "./shared-connection.js";
import { joinTabs, type Tabs } from "./tabs.js";
import type { Transport } from "./transport.js";

/** The leader shows that it is alive every 20 seconds, and answers at once. */
const HEARTBEAT = 20_000;
const SILENCE = 75_000;
const REPLY_TIMEOUT = 5_000;

type Message =
  /** A tab announces its channels, and the positions up to which it has received all events. */
  | { type: "follow"; tab: string; number: number; channels: Record<string, number>; isCheck: boolean }
  /** The leader serves the announcement. */
  | { type: "served"; leader: string; tab: string; number: number }
  /** A tab leads. */
  | { type: "leads"; leader: string }
  | { type: "frame"; leader: string; frame: FeedFrame; channels: string[]; seq: number | undefined };

/** A frame for a subscription. No other follows `rejected` or `end`. */
export type ChannelFrame = FeedFrame | { type: "rejected"; error: ProblemError | ConnectionError };

interface Subscription {
  channel: string;
  position: number;
  receive(received: ChannelFrame): void;
}

/** The events and live replies of channels, over one connection for all tabs of a browser. */
export interface Feed {
  /** Calls `receive` for each frame of a channel after the position `since`. Returns a function that ends this. */
  follow(channel: string, since: number, receive: (received: ChannelFrame) => void): () => void;
}

/**
 * The tabs elect a leader, which holds the connection and passes every frame on. Each tab
 * announces the positions of its subscriptions, ignores frames until the leader serves that
 * announcement, and ignores events up to its positions. So nothing is lost or repeated when a tab
 * subscribes, another tab leads, or the page has slept.
 */
export const createFeed = (transport: Transport, webSocket: typeof WebSocket | null): Feed => {
  const tab = randomId();
  const subscriptions = new Set<Subscription>();
  /** Aborts when this tab leaves the feed. */
  let joined: AbortController | undefined;
  let listening: AbortController | undefined;
  let isAsleep = false;
  let tabs: Tabs<Message> | undefined;
  /** Only while this tab leads. */
  let shared: SharedConnection | undefined;
  /** The number of the newest announcement, of the newest one that is served, and the leader that serves it. */
  let number = 0;
  let served = 0;
  let leader = "";
  let silence: ReturnType<typeof setTimeout> | undefined;
  let heartbeat: ReturnType<typeof setTimeout> | undefined;

  const announce = (isCheck = false): void => {
    const channels: Record<string, number> = {};
    if (joined) for (const { channel, position } of subscriptions) channels[channel] = Math.min(position, channels[channel] ?? Infinity);
    number += 1;
    tabs?.post({ type: "follow", tab, number, channels, isCheck });
  };

  /** Takes the lead if the leader is silent. */
  const watch = (milliseconds: number): void => {
    clearTimeout(silence);
    if (!shared) silence = setTimeout(() => tabs?.elect(true), milliseconds);
  };

  const awaitLeader = (): void => {
    announce();
    watch(SILENCE);
  };

  const end = (subscription: Subscription): void => {
    if (!subscriptions.delete(subscription)) return;
    if (subscriptions.size > 0) return announce();
    leave();
    listening?.abort();
    listening = undefined;
  };

  /** Ends the subscriptions of this tab; another tab may have a credential that is accepted. */
  const rejected = (error: ProblemError): void => {
    for (const subscription of [...subscriptions]) {
      end(subscription);
      subscription.receive({ type: "rejected", error });
    }
  };

  const showAlive = (): void => {
    tabs?.post({ type: "leads", leader: tab });
    heartbeat = setTimeout(showAlive, HEARTBEAT);
  };

  const lead = (isLeader: boolean): void => {
    shared?.close();
    shared = undefined;
    // The next one, even this tab again, does not know the announcements so far.
    leader = "";
    clearTimeout(heartbeat);
    if (!isLeader) {
      // Another tab has taken the lead.
      if (joined) awaitLeader();
      return;
    }
    shared = createSharedConnection(transport, webSocket, (frame, channels, seq) => tabs?.post({ type: "frame", leader: tab, frame, channels, seq }), rejected);
    showAlive();
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
      if (!shared) return;
      shared.serve(message.tab, message.channels);
      tabs?.post({ type: "served", leader: tab, tab: message.tab, number: message.number });
      shared.repeatReplies();
      if (message.isCheck) shared.ping();
      return;
    }
    watch(SILENCE);
    if (message.type === "leads" && message.leader !== leader) announce();
    if (message.type === "served" && message.tab === tab) ({ leader, number: served } = message);
    if (message.type === "frame" && message.leader === leader && served === number) deliver(message);
  };

  const join = async (): Promise<void> => {
    if (joined || isAsleep || subscriptions.size === 0) return;
    const { signal } = (joined = new AbortController());
    let identity: string[] | undefined;
    for (let attempt = 0; identity === undefined; attempt += 1) {
      identity = await transport.identity().catch(() => undefined);
      if (!identity) await transport.pause(attempt, new ConnectionError(), signal, Infinity).catch(() => {});
      if (signal.aborted) return;
    }
    tabs = joinTabs<Message>(`agent-service:${identity.join(" ")}`, { lead, receive });
    tabs.elect();
    awaitLeader();
  };

  const leave = (): void => {
    joined?.abort();
    joined = undefined;
    announce();
    lead(false);
    tabs?.close();
    tabs = undefined;
    clearTimeout(silence);
  };

  /** Checks that the leader and its connection are alive. */
  const check = (): void => {
    announce(true);
    if (tabs) watch(REPLY_TIMEOUT);
  };

  const sleep = (): void => {
    isAsleep = true;
    leave();
  };

  const wake = (): void => {
    isAsleep = false;
    if (joined) check();
    else void join();
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
    on(document, "visibilitychange", () => document.visibilityState === "visible" && check());
    return listener;
  };

  return {
    follow(channel, since, receive) {
      const subscription = { channel, position: since, receive };
      subscriptions.add(subscription);
      listening ??= listen();
      if (joined) announce();
      else void join();
      return () => end(subscription);
    },
  };
};
