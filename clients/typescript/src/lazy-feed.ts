import { lost } from "./errors.js";
import type { Feed } from "./feed.js";
import type { Transport } from "./transport.js";

/** Loads the code of the feed when a page follows something for the first time. */
export const createLazyFeed = (transport: Transport, webSocket: typeof WebSocket | undefined): Feed => {
  let loading: Promise<Feed> | undefined;
  return {
    follow(channel, since, receive) {
      loading ??= import("./feed.js").then(({ createFeed }) => createFeed(transport, webSocket));
      let isStopped = false;
      let stop = () => {};
      loading
        .then((feed) => {
          if (!isStopped) stop = feed.follow(channel, since, receive);
        })
        .catch((error: unknown) => {
          loading = undefined;
          if (!isStopped) receive({ type: "rejected", error: lost(error) });
        });
      return () => {
        isStopped = true;
        stop();
      };
    },
  };
};
