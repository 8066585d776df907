import { type ClientOptions, createTransport } from "./transport.js";

/** The time in milliseconds after which a region is taken to be unreachable. */
const TIMEOUT = 5_000;
/** The time in milliseconds for which a region that has failed is avoided if another one answers. */
const AVOIDED = 30_000;

/** Returns options with which several requests use one token. */
const withOneToken = (options: ClientOptions): ClientOptions => {
  const { getToken } = options;
  let token: string | Promise<string> | undefined;
  return { ...options, ...(getToken && { getToken: () => (token ??= getToken()) }) };
};

const listRegions = async (options: ClientOptions): Promise<string[]> => {
  const list = { path: "/api/regions", retries: 3 };
  const { data } = await createTransport(options).send<{ data: { url: string }[] }>(list, (response) => response.json());
  return data.map(({ url }) => url);
};

/** Returns the URL that answers fastest; `undefined` if none answers. */
const fastestOf = async (urls: string[], options: ClientOptions): Promise<string | undefined> => {
  const answered = urls.map(async (url) => {
    const { send } = createTransport({ ...options, url, retries: 0 });
    const ping = () => send({ path: "/api/ping", signal: AbortSignal.timeout(TIMEOUT) }, (response) => response.text());
    // The first one opens the connection. It can be used again once the response has been read.
    await ping();
    const start = performance.now();
    await ping();
    return { url, time: performance.now() - start };
  });
  const results = await Promise.allSettled(answered);
  const reached = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  return reached.toSorted((one, other) => one.time - other.time)[0]?.url;
};

/**
 * Returns the URL of the region that answers fastest, of those that the service at `options.url` lists;
 * `options.url` itself if none of them answers. Rejects if the service cannot list them.
 */
export const nearestRegion = async (options: ClientOptions): Promise<string> => {
  const shared = withOneToken(options);
  return (await fastestOf(await listRegions(shared), shared)) ?? options.url;
};

/** Returns true for the response of a region that is down, or has lost the home region. */
const isFailure = async (response: Response): Promise<boolean> => {
  if (response.status === 502 || response.status === 504) return true;
  if (response.status !== 503) return false;
  const problem: { code?: string } | undefined = await response
    .clone()
    .json()
    .catch(() => undefined);
  return problem === undefined || problem.code === "home_unavailable";
};

/**
 * Returns options for `createClient` with which the client uses the nearest region, and another one
 * when that region is down or has lost the home region.
 */
export const inNearestRegion = async (options: ClientOptions): Promise<ClientOptions> => {
  const shared = withOneToken(options);
  const urls = await listRegions(shared);
  let url = (await fastestOf(urls, shared)) ?? options.url;
  const failedAt = new Map<string, number>();
  let search: Promise<void> | undefined;
  const leave = (failed: string): void => {
    failedAt.set(failed, performance.now());
    // Another region is in use already, or being looked for.
    if (failed !== url || search) return;
    const others = urls.filter((it) => performance.now() - (failedAt.get(it) ?? -Infinity) > AVOIDED);
    const again = withOneToken(options);
    // If all have failed, the nearest one still answers reads.
    const choose = async () => (await fastestOf(others, again)) ?? (await fastestOf(urls, again)) ?? url;
    search = choose()
      .then((found) => void (url = found))
      .finally(() => (search = undefined));
  };
  return {
    ...options,
    get url() {
      return url;
    },
    async fetch(input, init) {
      const used = url;
      try {
        const response = await (options.fetch ?? fetch)(input, init);
        if (await isFailure(response)) leave(used);
        return response;
      } catch (error) {
        if (!init?.signal?.aborted) leave(used);
        throw error;
      }
    },
  };
};
