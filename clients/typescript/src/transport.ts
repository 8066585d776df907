import { ConnectionError, lost, type Problem, ProblemError } from "./errors.js";
import { backoff, sleep, within } from "./pause.js";
import { randomId } from "./random-id.js";

/** The settings of a client. */
export interface ClientOptions {
  /** The address of the service, such as `https://agents.example.org`; empty for the origin of the page. It is read before each request, so a getter can change it. */
  url: string;
  /** An API key, for servers. Pages use `getToken`. */
  apiKey?: string | undefined;
  /**
   * Returns an access token. It is called when there is none yet, and again once the service has
   * rejected the token. If it fails, requests fail with its message.
   */
  getToken?: (() => string | Promise<string>) | undefined;
  /** Sends requests; `globalThis.fetch` by default. */
  fetch?: typeof fetch | undefined;
  /** Opens sockets; `globalThis.WebSocket` by default. With `null`, and where there are none, server-sent events replace them. */
  webSocket?: typeof WebSocket | null | undefined;
  /** The number of times that a request is repeated after a lost connection or a problem that is retryable; 3 by default. */
  retries?: number | undefined;
}

/** Options of a single request. */
export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** Further headers, such as `If-Match`. */
  headers?: Record<string, string | undefined> | undefined;
  /** The idempotency key of a creation, so that the caller itself can repeat it; a random one by default. */
  idempotencyKey?: string | undefined;
}

export interface TransportRequest extends RequestOptions {
  /** `GET` by default. */
  method?: string;
  path: string;
  query?: object | undefined;
  body?: unknown;
  /** The number of repetitions, if it is not that of the client. */
  retries?: number;
  /** Further options of `fetch`, such as a body that is no JSON. */
  init?: object;
  /** Sends this request, unless the client has a `fetch` of its own. */
  send?: typeof fetch | undefined;
}

/** Sends requests with a credential, and repeats those that can be repeated. */
export interface Transport {
  /** Returns the address of the service, without a slash at its end. */
  base(): string;
  /** Identifies the service and the principal. From then on, the token of another principal is not used. */
  identity(signal?: AbortSignal): Promise<string[]>;
  /** Sends a request to a path with the credential, as `fetch` does: a rejection is a response. */
  fetch(path: string, init?: RequestInit, send?: typeof fetch): Promise<Response>;
  /** Returns the milliseconds for which the token is valid; `undefined` if it does not show it. */
  lifetime(): Promise<number | undefined>;
  /** Fetches another token; `undefined` if the credential is an API key. */
  renew(): Promise<string | undefined>;
  /** `receive` reads the response; if that fails, the request is repeated too. */
  send<Result = Response>(request: TransportRequest, receive?: (response: Response) => Promise<Result>): Promise<Result>;
  /** Records that this client has seen the log up to a position: no region answers it from an older state. */
  reached(position: number | undefined): void;
  /** Waits before the next attempt, of at most `limit`; `false` if there is none. */
  pause(attempt: number, error: unknown, signal?: AbortSignal, limit?: number): Promise<boolean>;
}

/** Throws if a response is a failure. That of another server, such as a proxy, has no problem. */
const checkResponse = async (response: Response): Promise<void> => {
  const type = response.headers.get("Content-Type") ?? "";
  const problem = type.includes("problem+json") ? ((await response.json()) as Problem | null) : undefined;
  if (problem?.code) throw new ProblemError(problem);
  if (response.ok && !type.includes("html")) return;
  const error = new ConnectionError(`HTTP ${response.status} with ${type}: is \`url\` the address of Agent Service?`);
  const after = response.headers.get("Retry-After") ?? "";
  // Seconds, or the date of the end.
  error.retryAfter = Number(after) || (Date.parse(after) - Date.now()) / 1000 || undefined;
  throw error;
};

/** Returns why a request is lost. Browsers hide responses from pages that the service does not allow. */
const reasonOf = (url: string, error: unknown): string => {
  const { origin, location, navigator } = globalThis;
  const isOther = location && navigator?.onLine && !`${url}/`.startsWith(`${origin}/`);
  return `${url} cannot be reached${isOther ? `, or does not allow ${origin} in SERVER__ALLOWED_ORIGINS` : ""} (${error})`;
};

/** Returns the members that are present, as texts. */
const textsOf = (object: object = {}): [string, string][] =>
  Object.entries(object).flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]]));

/** Returns an id as a segment of a path. `.` and `..` are no ids, but would lead to another path. */
export const segment = (id: string): string => encodeURIComponent(id.replace(/^\.*$/, " $&"));

/** Returns the claims of a token; none if it is no token with claims. */
const claimsOf = (credential: string): { iss?: string; sub?: string; exp?: number } => {
  try {
    const [, claims = ""] = credential.split(".");
    return JSON.parse(atob(claims.replace(/-/g, "+").replace(/_/g, "/")));
  } catch {
    return {};
  }
};

/** Random names of the credentials that show no principal, which only this page knows. */
const unknown = new Map([["", ""]]);

/** Returns a name for the principal of a credential, without its secret: the issuer and the subject of a token, or the id of an API key. */
const principalOf = (credential: string): string => {
  const { iss, sub } = claimsOf(credential);
  if (sub !== undefined) return JSON.stringify([iss, sub]);
  const name = /^agk_\w{12}(?=_)/.exec(credential)?.[0] ?? unknown.get(credential) ?? randomId();
  unknown.set(credential, name);
  return name;
};

export const createTransport = (options: ClientOptions): Transport => {
  const { apiKey, getToken, retries = 3 } = options;
  // A path is one of the page, as for `fetch`.
  const base = () => `${options.url}`.replace(/^(?=\/|$)/, globalThis.location?.origin ?? "").replace(/\/+$/, "");
  const service = base();
  if (!/^https?:\/\/\S+$/.test(service)) throw new TypeError(`\`url\` needs a scheme, https or http: ${service}`);
  let token: Promise<string> | undefined;
  /** The newest position of the log that this client has seen. */
  let newest = 0;
  /** True once a region has answered that has a copy of the data. */
  let isFar = false;

  const reached = (position: number | undefined): void => void (newest = Math.max(newest, position || 0));

  /** The principal, once something depends on it. */
  let principal: string | undefined;

  const credential = async (signal?: AbortSignal | null): Promise<string> => {
    if (apiKey || !getToken) return apiKey ?? "";
    const requested = (token ??= (async () => getToken())());
    try {
      const received = await within(requested, signal);
      // A header takes no other characters.
      if (typeof received !== "string" || !/^[!-~]+$/.test(received)) throw new ReferenceError("`getToken` returned no token.");
      if (principal && principalOf(received) !== principal) {
        throw new ConnectionError(
          "`getToken` returned another user's token: create another client.",
          {},
          "This page belongs to another user.",
        );
      }
      return received;
    } catch (error) {
      signal?.throwIfAborted();
      // A failed attempt is not kept.
      if (token === requested) token = undefined;
      const { name, message = String(error) } = Object(error) as Partial<Error>;
      // What the page itself says is for visitors.
      throw lost(error, `No token: ${message}`, name === "Error" ? message : undefined);
    }
  };

  const authorizedFetch: Transport["fetch"] = async (path, init = {}, send) => {
    for (let isRepeated = false; ; isRepeated = true) {
      const used = await credential(init.signal);
      const tokenUsed = token;
      const headers = new Headers(init.headers);
      if (used) headers.set("Authorization", `Bearer ${used}`);
      isFar ||= base() !== service;
      if (isFar && newest) headers.set("X-Consistency", String(newest));
      const response = await (options.fetch ?? send ?? fetch)(base() + path, { ...init, headers });
      isFar ||= response.headers.has("X-Served-By");
      reached(Number(response.headers.get("X-Consistency")));
      if (response.status !== 401 || !getToken || isRepeated) return response;
      // Another request may have replaced the token meanwhile.
      if (token === tokenUsed) token = undefined;
    }
  };

  const attempt = async <Result>(request: TransportRequest, receive: (response: Response) => Promise<Result>): Promise<Result> => {
    const { method = "GET", path, query, body, headers, signal = null, idempotencyKey } = request;
    const type = body && "application/json";
    const named = { "Content-Type": type, "Idempotency-Key": idempotencyKey, ...headers };
    const init = { method, headers: textsOf(named), body: JSON.stringify(body), signal, ...request.init };
    const parameters = String(new URLSearchParams(textsOf(query)));
    try {
      const response = await authorizedFetch(path + (parameters && `?${parameters}`), init, request.send);
      await checkResponse(response);
      return await receive(response);
    } catch (error) {
      signal?.throwIfAborted();
      throw lost(error, reasonOf(base(), error));
    }
  };

  const pause = async (number: number, error: unknown, signal?: AbortSignal, limit = retries): Promise<boolean> => {
    // Errors that are none of this client are mistakes in the program.
    const { retryable, retryAfter } = error as Partial<ConnectionError>;
    if (!retryable || number >= limit) return false;
    // biome-ignore lint/style/noNonNullAssertion: without it, the product is NaN, and so 0.
    await sleep(Math.max(retryAfter! * 1000 || 0, backoff(number)), signal, error instanceof ConnectionError);
    return true;
  };

  const send: Transport["send"] = async (request, receive = async (response) => response as never) => {
    // The service executes a request with a key once, however often it arrives.
    const canRepeat = request.method !== "POST" || request.idempotencyKey;
    for (let number = 0; ; number += 1) {
      try {
        return await attempt(request, receive);
      } catch (error) {
        if (error instanceof ConnectionError && !canRepeat) throw error;
        if (!(await pause(number, error, request.signal, request.retries))) throw error;
      }
    }
  };

  const identity: Transport["identity"] = async (signal) => {
    const known = principal ?? principalOf(await credential(signal));
    return [service, (principal ??= known)];
  };

  const lifetime = async () => {
    const { exp } = claimsOf(await credential());
    return exp && exp * 1000 - Date.now();
  };

  const renew = async () => {
    const previous = token;
    token = undefined;
    try {
      return getToken && (await credential());
    } catch (error) {
      // It may still be valid.
      token ??= previous;
      throw error;
    }
  };

  return { base, send, fetch: authorizedFetch, reached, pause, identity, lifetime, renew };
};
