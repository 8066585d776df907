import { backoff, sleep } from "./pause.js";

/** The service has rejected a request of another protocol. Pages show its message. */
export class Rejection extends Error {}

/** The number of attempts after lost connections, which take about 40 seconds. */
const ATTEMPTS = 10;
/** Waits before the next attempt. Throws `error` if a repetition does not help. */
export const pause = async (attempt: number, error: unknown, signal?: AbortSignal): Promise<void> => {
  if (error instanceof Rejection || attempt === ATTEMPTS) throw error;
  await sleep(backoff(attempt), signal);
};

/** Repeats a request whose connection was lost, unless `signal` has aborted. */
export const repeat = async <Result>(request: () => Promise<Result>, signal?: AbortSignal): Promise<Result> => {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await request();
    } catch (error) {
      await pause(attempt, error, signal);
    }
  }
};
