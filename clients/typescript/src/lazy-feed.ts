import { lost } from "./errors.js";
import type { Feed } from "./feed.js";
import { within } from "./pause.js";
import { report } from "./report.js";
import type { Transport } from "./transport.js";

/** Loads the code of the feed and of events when a page follows something for the first time. */
export const createLazyFeed = (transport: Transport, webSocket: typeof WebSocket | null): Feed => {
  /** Tries again like a lost connection: pages load the code over the network, too. */
  const load = async (): Promise<typeof import("./feed.js")> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await import("./feed.js");
      } catch (error) {
        report("Events cannot be followed yet", error);
        // Whatever has failed, a pause follows: `lost()` can always be repeated.
        await transport.pause(attempt, lost(), undefined, Infinity);
      }
    }
  };

  let loading: Promise<Feed> | undefined;
  const loaded = (): Promise<Feed> => (loading ??= load().then(({ createFeed }) => createFeed(transport, webSocket)));
  return {
    async *events(options) {
      yield* (await within(loaded(), options?.signal)).events(options);
    },
    type: (id, isTyping) => void loading?.then((feed) => feed.type(id, isTyping)),
    follow(channel, since, receive) {
      let isStopped = false;
      let stop = () => {};
      void loaded().then((feed) => {
        if (!isStopped) stop = feed.follow(channel, since, receive);
      });
      return () => {
        isStopped = true;
        stop();
      };
    },
  };
};
