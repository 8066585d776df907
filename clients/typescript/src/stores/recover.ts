import type { ConnectionError } from "../errors.js";
import { sleep } from "../pause.js";

/** The time between two attempts to reach the service, in milliseconds. */
export const RETRY_INTERVAL = 5_000;

/** Shows why a read has failed, and repeats it if the failure may pass. */
export const recover = (error: unknown, fail: (error: unknown) => void, read: () => unknown, signal: AbortSignal): void => {
  if (signal.aborted) return;
  fail(error);
  if ((error as Partial<ConnectionError>).retryable) sleep(RETRY_INTERVAL, signal, true).then(read, () => {});
};
