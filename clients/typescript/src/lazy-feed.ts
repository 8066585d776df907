import { lost } from "./errors.js";
import type { Feed } from "./feed.js";
import type { Transport } from "./transport.js";

/** Loads the code of the feed when a page follows something for the first time. */
export const createLazyFeed = (transport: Transport, webSocket: typeof WebSocket | null): Feed => {
  /** Tries again like a lost connection: pages load the code over the network, too. */
  const load = async (): Promise<typeof import("./feed.js")> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await import("./feed.js");
      } catch (error) {
        await transport.pause(attempt, lost(error), undefined, Infinity);
      }
    }
  };

  let loading: Promise<Feed> | undefined;
  return {
    follow(channel, since, receive) {
      loading ??= load().then(({ createFeed }) => createFeed(transport, webSocket));
      let isStopped = false;
      let stop = () => {};
      void loading.then((feed) => {
        if (!isStopped) stop = feed.follow(channel, since, receive);
      });
      return () => {
        isStopped = true;
        stop();
      };
    },
  };
};
