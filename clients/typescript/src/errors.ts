import type { components } from "./generated/schema.js";

/** A problem as the service reports it (RFC 9457). */
export type Problem = components["schemas"]["Problem"];
/** The code of a problem, for programs. */
export type ProblemCode = components["schemas"]["ProblemCode"];

/** The service has rejected a request. It has the members of the problem. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";

  constructor(readonly problem: Problem) {
    const faults = problem.errors?.map(({ pointer, parameter, header, detail }) => `${pointer ?? parameter ?? header ?? ""}: ${detail}`);
    super(`${problem.title} ${faults?.join("; ") || problem.detail} (${problem.code})`);
    Object.assign(this, problem);
  }
}
export interface ProblemError extends Readonly<Problem> {}

/** The service cannot be reached, or the connection was lost, and repetitions did not help. It has members of a problem, too. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code = "offline";
  readonly detail = this.message;
  readonly retryable = true;
  /** The seconds to wait before a repetition, if a proxy has told them. */
  retryAfter?: number | undefined;

  /** `title` is for visitors, and `detail`, which is the message, for developers. */
  constructor(message?: string, options?: ErrorOptions, readonly title = "The service cannot be reached.") {
    super(message, options);
  }
}

/** Returns a problem as it is, and any other error as a lost connection with this message. */
export const lost = (error?: unknown, message = "the connection was lost", title?: string): ProblemError | ConnectionError =>
  error instanceof ProblemError || error instanceof ConnectionError
    ? error
    : new ConnectionError(message, { cause: error }, title);

/** Returns the problem in a response; a response of another server, such as a proxy, has none. */
export const problemOf = async (response: Response): Promise<ProblemError | ConnectionError> => {
  const isProblem = response.headers.get("Content-Type")?.includes("problem+json");
  if (isProblem) return new ProblemError((await response.json()) as Problem);
  const error = new ConnectionError(`HTTP ${response.status} without a problem`);
  const after = response.headers.get("Retry-After") ?? "";
  // Seconds, or the date of the end.
  error.retryAfter = Number(after) || (Date.parse(after) - Date.now()) / 1000 || undefined;
  return error;
};
