import type { components } from "./generated/schema.js";

/** A problem as the service reports it (RFC 9457). */
export type Problem = components["schemas"]["Problem"];
/** The code of a problem, for programs. */
export type ProblemCode = components["schemas"]["ProblemCode"];

/** The service has rejected a request. It has the members of the problem. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns all members.
export class ProblemError extends Error {
  override readonly name = "ProblemError";

  constructor(readonly problem: Problem) {
    const faults = problem.errors?.map(({ pointer, parameter, header, detail }) => `${pointer ?? parameter ?? header ?? ""}: ${detail}`);
    super(`${problem.title} ${faults?.join("; ") || problem.detail} (${problem.code})`);
    Object.assign(this, problem);
  }
}
export interface ProblemError extends Readonly<Problem> {}

/** Returns what visitors read of a lost connection. */
export const offlineTitle = (): string => (globalThis.navigator?.onLine === false ? "You are offline." : "The service cannot be reached.");

/**
 * The service cannot be reached, or the connection was lost, and repetitions did not help; or the
 * program or its runtime lacks something. It has members of a problem, too.
 */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code = "offline";
  readonly detail = this.message;
  /** False for a mistake in the program, or a missing part of the runtime, which no repetition corrects. */
  readonly retryable: boolean = !(this.cause instanceof ReferenceError);
  /** The seconds to wait before a repetition, if a proxy has told them. */
  retryAfter?: number | undefined;

  /** `title` is for visitors, and `detail`, which is the message, for developers. */
  constructor(
    message?: string,
    options?: ErrorOptions,
    readonly title = offlineTitle(),
  ) {
    super(message, options);
  }
}

/** What a request fails with, and what the states of hooks show. */
export type ServiceError = ProblemError | ConnectionError;

/** Returns an error of this client as it is, one that shows a missing part of the runtime with a remedy, and any other as a lost connection. */
export const lost = (error?: unknown, message = "the connection was lost", title?: string): ServiceError => {
  if (error instanceof ProblemError || error instanceof ConnectionError) return error;
  if (error instanceof ReferenceError) message = title = `Load a polyfill, or correct the program: ${error.message}`;
  return new ConnectionError(message, { cause: error }, title);
};
