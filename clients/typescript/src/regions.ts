import { type ClientOptions, createTransport } from "./transport.js";

/** The time in milliseconds after which a region is taken to be unreachable. */
const TIMEOUT = 5_000;

/**
 * Returns the URL of the region that answers fastest, of those that the service at `options.url` lists;
 * `options.url` itself if none answers.
 */
export const nearestRegion = async (options: ClientOptions): Promise<string> => {
  const { getToken } = options;
  let token: string | Promise<string> | undefined;
  // One token for all regions.
  const shared = { ...options, ...(getToken && { getToken: () => (token ??= getToken()) }), retries: 0 };
  const list = { method: "GET", path: "/api/regions" };
  const { data } = await createTransport({ ...shared, retries: 3 }).send<{ data: { url: string }[] }>(list, (response) => response.json());
  const answered = data.map(async ({ url }) => {
    const { send } = createTransport({ ...shared, url });
    const ping = () => send({ method: "GET", path: "/api/ping", signal: AbortSignal.timeout(TIMEOUT) });
    // The first one opens the connection.
    await ping();
    const start = performance.now();
    await ping();
    return { url, time: performance.now() - start };
  });
  const results = await Promise.allSettled(answered);
  const reached = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  return reached.toSorted((one, other) => one.time - other.time)[0]?.url ?? options.url;
};

/**
 * Returns options for `createClient` with which the client uses the nearest region, and chooses again
 * when that region cannot be reached or responds with 503: it may have lost the home region.
 */
export const inNearestRegion = async (options: ClientOptions): Promise<ClientOptions> => {
  let url = await nearestRegion(options);
  let search: Promise<void> | undefined;
  const chooseAgain = (): void => {
    search ??= nearestRegion(options)
      .then((found) => void (url = found))
      // The next failure leads to another search.
      .catch(() => {})
      .finally(() => (search = undefined));
  };
  return {
    ...options,
    get url() {
      return url;
    },
    async fetch(input, init) {
      try {
        const response = await (options.fetch ?? fetch)(input, init);
        if (response.status === 503) chooseAgain();
        return response;
      } catch (error) {
        if (!init?.signal?.aborted) chooseAgain();
        throw error;
      }
    },
  };
};
