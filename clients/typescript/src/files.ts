/**
 * Uploads of files, and addresses of their contents. Pages load this code when they need it; it imports none that they
 * have loaded, which would divide that into more pieces.
 */
import type { Problem, ServiceError } from "./errors.js";
import type { components } from "./generated/schema.js";
import type { MessageFile } from "./message.js";
import type { RequestOptions, Transport, TransportRequest } from "./transport.js";
import { fetchWithProgress } from "./upload.js";

/** A file as the service has stored it. */
export type StoredFile = components["schemas"]["File"];

/** An address of the content of a file, which needs no token. */
export interface FileLink {
  url: string;
  /** The time in ISO 8601 after which the address is no longer valid. */
  expiresAt: string;
}

export interface UploadOptions extends Pick<RequestOptions, "signal" | "idempotencyKey"> {
  /** The name of the file; that of a `File` by default. */
  name?: string | undefined;
  /** Called with the part that was sent, from 0 to 1. */
  onProgress?: ((part: number) => void) | undefined;
}

/** The files of the service. */
export interface Files {
  /** Uploads a file, which one conversation can then use. It is deleted after 24 hours if no message names it. */
  upload(file: Blob, options?: UploadOptions): Promise<StoredFile>;
  /** Returns an address of the content that needs no token, such as for `<img>`. It is valid for ten more minutes at least. */
  link(id: string): Promise<FileLink>;
  /** Deletes a file that nothing uses. */
  delete(id: string, options?: Pick<RequestOptions, "signal">): Promise<void>;
}

/** Returns true if a limit holds for longer than a minute, as that of the files of a day. */
const isLong = ({ status, retryAfter = 0 }: Partial<Problem>): boolean => status === 429 && retryAfter > 60;

/** Sends a request, and repeats it unless it would wait long. */
const post = async <Result>(transport: Transport, request: TransportRequest): Promise<Result> => {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await transport.send({ ...request, retries: 0 }, (response) => response.json());
    } catch (error) {
      if (isLong(error as Problem) || !(await transport.pause(attempt, error, request.signal))) throw error;
    }
  }
};

/** Uploads a file. A file that has arrived is stored once, however often the connection is lost. */
export const upload = (transport: Transport, file: Blob, options: UploadOptions): Promise<StoredFile> => {
  const { name = (file as Partial<File>).name, signal, idempotencyKey, onProgress } = options;
  const headers = {
    "Content-Type": file.type || "application/octet-stream",
    "Content-Disposition": name && `attachment; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, escapedOf)}`,
  };
  const send = globalThis.XMLHttpRequest ? (fetchWithProgress as typeof fetch) : undefined;
  const request = { method: "POST", path: "/api/files", headers, init: { body: file, onProgress }, send, signal, idempotencyKey };
  return post(transport, request);
};

/** Returns a character that `encodeURIComponent` keeps, and a header does not (RFC 8187). */
const escapedOf = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/** The time in milliseconds for which an address is used: it is valid for an hour. */
const REUSED = 50 * 60_000;
const links = new WeakMap<Transport, Map<string, { link: Promise<FileLink>; until: number }>>();

/** Returns the address of a file; the same one while it is valid, so that browsers load an image once. */
export const link = (transport: Transport, id: string): Promise<FileLink> => {
  const known = links.get(transport) ?? new Map<string, { link: Promise<FileLink>; until: number }>();
  links.set(transport, known);
  const found = known.get(id);
  if (found && found.until > Date.now()) return found.link;
  // Another address changes nothing, so the request can be repeated.
  const requested = post<FileLink>(transport, { method: "POST", path: `/api/files/${encodeURIComponent(id)}/link` });
  known.set(id, { link: requested, until: Date.now() + REUSED });
  // A failed attempt is not kept.
  requested.catch(() => known.delete(id));
  return requested;
};

export const remove = async (transport: Transport, id: string, { signal }: Pick<RequestOptions, "signal"> = {}): Promise<void> => {
  await transport.send({ method: "DELETE", path: `/api/files/${encodeURIComponent(id)}`, signal });
};

/** Why a message cannot be sent whose files were lost with the page that had them. */
const CLOSED = {
  code: "file_not_found",
  status: 404,
  title: "The page was closed before the file was uploaded.",
  detail: "Its content was in the memory of the page. Choose the file again.",
};
const FULL = "No more files can be sent today.";
const STOPPED = { code: "turn_cancelled", status: 409, title: "The upload was stopped.", detail: "The message was not sent." };

/** The parts of a conversation that the upload of the files of a message needs. */
interface Uploading {
  /** The idempotency key of the message. */
  idempotencyKey: string;
  /** Aborted when the conversation is closed. */
  signal: AbortSignal;
  /** Aborted to end the upload. */
  stopping: AbortController;
  /** Receives all files after each change. */
  show: (files: readonly MessageFile[]) => void;
  lost: (error: unknown) => ServiceError;
  ProblemError: new (problem: Problem) => ServiceError;
}

/**
 * Uploads those files of a message that have no id yet, one after the other: over a slow connection several at once
 * would each be too slow for the service.
 */
export const uploadAll = async (transport: Transport, files: readonly MessageFile[], uploading: Uploading): Promise<void> => {
  const { idempotencyKey, signal, show, lost, ProblemError } = uploading;
  const { signal: stopping } = uploading.stopping;
  const close = () => uploading.stopping.abort();
  const fail = (problem: object): never => {
    throw new ProblemError({ type: "about:blank", ...problem, retryable: false } as Problem);
  };
  let known = files;
  const change = (index: number, changed: Partial<MessageFile>) =>
    show((known = known.map((file, at) => (at === index ? { ...file, ...changed } : file))));
  for (const [index, { id, file }] of files.entries()) {
    if (id) continue;
    const onProgress = (progress: number) => change(index, { progress, error: undefined });
    signal.throwIfAborted();
    signal.addEventListener("abort", close);
    try {
      if (!file) return fail(CLOSED);
      onProgress(0);
      const stored = await upload(transport, file, { idempotencyKey: `${idempotencyKey}-${index}`, signal: stopping, onProgress });
      change(index, { id: stored.id, name: stored.name, mediaType: stored.mediaType, progress: undefined });
    } catch (error) {
      signal.throwIfAborted();
      change(index, { progress: undefined, error: stopping.aborted ? undefined : lost(error) });
      if (isLong(error as Problem)) fail({ ...(error as Problem), title: FULL });
      if (!stopping.aborted) throw error;
    } finally {
      signal.removeEventListener("abort", close);
    }
    if (stopping.aborted) fail(STOPPED);
  }
};
