import { sleep } from "./transport.js";

/** The service has rejected a request of another protocol. Pages show its message. */
export class Rejection extends Error {}

/** The number of attempts after lost connections, which take about 40 seconds. */
const ATTEMPTS = 10;
/** The pauses between them in milliseconds, which double. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8_000;

/** Waits before the next attempt. Throws `error` if a repetition does not help. */
export const pause = async (attempt: number, error: unknown, signal?: AbortSignal): Promise<void> => {
  if (error instanceof Rejection || attempt === ATTEMPTS) throw error;
  const milliseconds = Math.min(FIRST_PAUSE * 2 ** attempt, LONGEST_PAUSE);
  await sleep(milliseconds * (0.5 + Math.random() / 2), signal);
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
