/** The pause before the first repetition, which doubles with each one. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;

/** Returns the milliseconds before a repetition. */
export const backoff = (attempt: number): number => Math.min(FIRST_PAUSE * 2 ** attempt, LONGEST_PAUSE) * (0.5 + Math.random() / 2);

/** Waits; with `untilOnline`, at most until the browser is online again. */
export const sleep = async (milliseconds: number, signal?: AbortSignal, untilOnline = false): Promise<void> => {
  const waiting = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  signal?.throwIfAborted();
  await new Promise<unknown>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", resolve, waiting);
    if (untilOnline) globalThis.addEventListener?.("online", resolve, waiting);
  });
  clearTimeout(timer);
  waiting.abort();
  signal?.throwIfAborted();
};
