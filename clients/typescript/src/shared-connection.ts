import type { ServiceError } from "./errors.js";
import { openEventStreams } from "./event-streams.js";
import type { Command, components, ServerFrame } from "./generated/frames.js";
import { sleep } from "./pause.js";
import { report } from "./report.js";
import { openSocket } from "./socket.js";
import type { Transport } from "./transport.js";
import { isLast } from "./turn.js";

type Schemas = components["schemas"];

/** A frame of a connection. Streams of events provide only these members of `reply` and `resync`. */
export type ConnectionFrame =
  | Exclude<ServerFrame, { type: "reply" | "resync" }>
  | { type: "reply"; id: number | null; error?: Schemas["Problem"] }
  | { type: "resync"; channel: string; headSeq: number };

/** A frame for the tabs. */
export type FeedFrame =
  | Extract<ConnectionFrame, { type: "event" | "live" | "caughtUp" | "resync" }>
  /** The channel has ended: it was deleted, or rejected with a problem. */
  | { type: "end"; problem?: Schemas["Problem"] | undefined };

/** Reports that the user types in a conversation, or has stopped. */
export type TypingCommand = Omit<Extract<Command, { type: "typing" }>, "id">;

/** Passes a frame of channels to the tabs. Afterwards they have received all events up to `seq`. */
export type Pass = (frame: FeedFrame, channels: string[], seq?: number) => void;

/** A connection to the service. */
export interface Connection {
  /** Follows a channel from a position; again to start anew. Returns the id that the reply repeats. */
  subscribe(channel: string, since: number): number;
  unsubscribe(channel: string): void;
  /** Sends a command that is not repeated after a lost connection. A ping checks that the connection is alive. */
  send(command: TypingCommand | { type: "ping" }): void;
  close(): void;
}

/** Receives the frames and the state of a connection. */
export interface ConnectionEvents {
  connected(): void;
  frame(frame: ConnectionFrame): void;
  /** The service rejects the connection for good, or the runtime cannot have one. */
  rejected(error: ServiceError): void;
  /** The network or the service allows no connections of this kind. */
  unusable(reason: unknown): void;
}

interface OpenChannel {
  /** The position up to which the tabs have received all events. */
  position: number;
  /** The id of the command that subscribes from this position, until the service has replied to it; then 0. */
  pending: number;
}

/** The connection of the leading tab, which serves all tabs. */
export interface SharedConnection extends Pick<Connection, "send" | "close"> {
  /** Serves a tab: its channels, each from the position up to which it has received all events. */
  serve(tab: string, channels: Record<string, number>): void;
  /** Sends the text so far of the replies in progress. */
  repeat(): void;
}

export const createSharedConnection = (
  transport: Transport,
  webSocket: typeof WebSocket | null,
  pass: Pass,
  rejected: (error: ServiceError) => void,
): SharedConnection => {
  const wanted = new Map<string, string[]>();
  const open = new Map<string, OpenChannel>();
  /** The reasoning and the text so far of the replies in progress, for tabs that join. */
  const reasoning = new Map<string, Schemas["ChatReasoningDelta"]>();
  const replies = new Map<string, Schemas["LiveReplySnapshot"]>();

  const subscribe = (channel: string, position: number): void => {
    open.set(channel, { position, pending: connection.subscribe(channel, position) });
  };

  /** Passes a frame to the tabs, except for channels where it belongs to an earlier subscription. */
  const advance = (frame: FeedFrame, channels: string[], seq: number): void => {
    const current = channels.filter((channel) => open.get(channel)?.pending === 0);
    for (const channel of current) open.set(channel, { position: seq, pending: 0 });
    if (current.length > 0) pass(frame, current, seq);
  };

  const end = (channel: string, problem?: Schemas["Problem"]): void => {
    open.delete(channel);
    pass({ type: "end", problem }, [channel], Infinity);
  };

  const passReply = (event: Extract<ServerFrame, { type: "live" }>["event"]): void =>
    pass({ type: "live", event } as FeedFrame, [`conversation:${event.conversationId}`]);

  const repeatReplies = (): void => {
    reasoning.forEach(passReply);
    replies.forEach(passReply);
  };

  const replied = (reply: Extract<ConnectionFrame, { type: "reply" }>): void => {
    for (const [channel, known] of open) {
      if (known.pending !== reply.id) continue;
      if (!reply.error) known.pending = 0;
      else if (!reply.error.retryable) end(channel, reply.error);
      else void sleep(1000 * (reply.error.retryAfter ?? 1)).then(() => open.get(channel) === known && subscribe(channel, known.position));
    }
  };

  const remember = (event: Extract<ServerFrame, { type: "live" }>["event"]): void => {
    if (event.type === "reply.snapshot") replies.set(event.turnId, event);
    if (event.type === "reasoning.delta") {
      const { to = 0, text = "" } = (event.from && reasoning.get(event.turnId)) || {};
      if (event.from === to) reasoning.set(event.turnId, { ...event, from: 0, text: text + event.text });
    }
    if (event.type !== "reply.delta") return;
    const { to, text } = replies.get(event.turnId) ?? { to: 0, text: "" };
    if (!event.conversationId || event.from !== to) return;
    replies.set(event.turnId, { ...event, type: "reply.snapshot", text: text + event.text } as Schemas["LiveReplySnapshot"]);
  };

  const events: ConnectionEvents = {
    rejected,
    connected() {
      for (const [channel, { position }] of open) subscribe(channel, position);
    },
    unusable(reason) {
      report("No socket is used", reason);
      connection.close();
      connection = openEventStreams(transport, events);
      events.connected();
    },
    frame(frame) {
      if (frame.type === "reply") replied(frame);
      else if (frame.type === "unsubscribed") end(frame.channel);
      else if (frame.type === "caughtUp") {
        advance(frame, [frame.channel], frame.seq);
        // The tabs know now which turns have started.
        repeatReplies();
      } else if (frame.type === "resync") advance(frame, [frame.channel], frame.headSeq);
      else if (frame.type === "event") {
        if (isLast(frame.event)) for (const known of [reasoning, replies]) known.delete(frame.event.turnId as string);
        advance(frame, frame.channels, frame.event.seq);
      } else if (frame.type === "live") {
        remember(frame.event);
        passReply(frame.event);
      }
    },
  };

  let connection = webSocket ? openSocket(transport, webSocket, events) : openEventStreams(transport, events);

  return {
    serve(tab, channels) {
      wanted.set(tab, Object.keys(channels));
      for (const [channel, since] of Object.entries(channels)) {
        // The channel starts again for all tabs; the others ignore events that they have received.
        if (since < (open.get(channel)?.position ?? Infinity)) subscribe(channel, since);
      }
      for (const channel of open.keys()) {
        if ([...wanted.values()].flat().includes(channel)) continue;
        open.delete(channel);
        connection.unsubscribe(channel);
      }
    },
    repeat: repeatReplies,
    send: (command) => connection.send(command),
    close() {
      open.clear();
      connection.close();
    },
  };
};
