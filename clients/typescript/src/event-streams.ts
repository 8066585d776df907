import { lost } from "./errors.js";
import { type LogEvent, streamEvents } from "./events.js";
import type { Connection, ConnectionEvents, ConnectionFrame } from "./shared-connection.js";
import type { Transport } from "./transport.js";
import { followTurn } from "./turn.js";

/** Replaces a socket where none can be opened: one stream of server-sent events for each channel. */
export const openEventStreams = (transport: Transport, { frame, rejected }: ConnectionEvents): Connection => {
  const streams = new Map<string, AbortController>();
  let ids = 0;

  const followReply = async ({ conversationId, turnId }: LogEvent & { type: "turn.started" }, signal: AbortSignal): Promise<void> => {
    for await (const part of followTurn(transport, String(conversationId), signal)) {
      if (part.turnId !== turnId) return;
      if (/^(reply|tool)\./.test(part.type)) frame({ type: "live", event: part } as ConnectionFrame);
    }
  };

  const follow = async (channel: string, since: number, id: number, signal: AbortSignal): Promise<void> => {
    // The caller knows the id only after `subscribe` has returned.
    await Promise.resolve();
    frame({ type: "reply", id });
    const resync = (headSeq: number) => frame({ type: "resync", channel, headSeq });
    try {
      for await (const event of streamEvents(transport, { since, channels: [channel], signal }, resync)) {
        frame({ type: "event", channels: [channel], event });
        // If it fails, the end of the turn still arrives as an event.
        if (event.type === "turn.started" && channel.startsWith("conversation:")) followReply(event, signal).catch(() => {});
      }
    } catch (error) {
      if (!signal.aborted) rejected(lost(error));
    }
  };

  const unsubscribe = (channel: string): void => {
    streams.get(channel)?.abort();
    streams.delete(channel);
  };

  return {
    unsubscribe,
    subscribe(channel, since) {
      unsubscribe(channel);
      const stream = new AbortController();
      streams.set(channel, stream);
      ids += 1;
      void follow(channel, since, ids, stream.signal);
      return ids;
    },
    send() {},
    close: () => streams.forEach((_, channel) => unsubscribe(channel)),
  };
};
