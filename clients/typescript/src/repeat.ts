import { offlineTitle } from "./errors.js";
import { backoff, sleep } from "./pause.js";

/** The service has rejected a request of another protocol. Pages show its message. */
export class Rejection extends Error {}

/**
 * Returns a lost connection as an error whose message pages can show. Other libraries recognise one by its type and by
 * the word `network`.
 */
export const unreachable = (cause: unknown): TypeError => {
  const { title = offlineTitle() } = cause as { title?: string };
  return new TypeError(`${title} (network error)`, { cause });
};

/** The number of attempts after lost connections, which take about 40 seconds. */
const ATTEMPTS = 10;
/** Waits before the next attempt. Throws if a repetition does not help, or after the last one. */
export const pause = async (attempt: number, error: unknown, signal?: AbortSignal, attempts = ATTEMPTS): Promise<void> => {
  if (error instanceof Rejection) throw error;
  signal?.throwIfAborted();
  if (attempt === attempts) throw unreachable(error);
  await sleep(backoff(attempt), signal);
};

/** Repeats a request whose connection was lost, unless `signal` has aborted. */
export const repeat = async <Result>(request: () => Promise<Result>, signal?: AbortSignal, attempts?: number): Promise<Result> => {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await request();
    } catch (error) {
      await pause(attempt, error, signal, attempts);
    }
  }
};
