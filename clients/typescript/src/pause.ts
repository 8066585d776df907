/** The pause before the first repetition, which doubles with each one. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;

/** Returns the milliseconds before a repetition. */
export const backoff = (attempt: number): number => Math.min(FIRST_PAUSE * 2 ** attempt, LONGEST_PAUSE) * (0.5 + Math.random() / 2);

/** The longest time of a timer. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Waits for a promise, at most until `signal` aborts. Then aborts `waiting`. */
export const within = async <Result>(
  promise: Promise<Result>,
  signal?: AbortSignal | null,
  waiting = new AbortController(),
): Promise<Result> => {
  const aborted = new Promise<never>((_, reject) => {
    signal?.throwIfAborted();
    signal?.addEventListener("abort", () => reject(signal.reason), waiting);
  });
  return Promise.race([promise, aborted]).finally(() => waiting.abort());
};

/** Waits; with `untilOnline`, at most until the browser is online again. */
export const sleep = (milliseconds: number, signal?: AbortSignal, untilOnline = false): Promise<unknown> => {
  const waiting = new AbortController();
  const slept = new Promise<unknown>((resolve) => {
    const timer = setTimeout(resolve, Math.min(milliseconds, LONGEST_TIMER));
    waiting.signal.onabort = () => clearTimeout(timer);
    if (untilOnline) globalThis.addEventListener?.("online", resolve, waiting);
  });
  return within(slept, signal, waiting);
};
