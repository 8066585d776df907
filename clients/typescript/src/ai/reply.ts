import type { UIMessageChunk } from "ai";
import { pause, Rejection, repeat } from "../repeat.js";
import { readEvents } from "../sse.js";
import { ReceivedChunks } from "./received-chunks.js";

/** The request for a reply. */
export interface ReplyRequest {
  /** Sends a message; absent if a reply is resumed. */
  send?: (signal: AbortSignal) => Promise<Response>;
  /** True if the message takes effect once, however often it is sent. */
  isRepeatable?: boolean;
  /** Requests the current reply from its beginning. */
  follow(signal: AbortSignal): Promise<Response>;
  /** Cancels the turn. */
  stop(): Promise<void>;
  /** Aborts when the user stops the reply. */
  abortSignal: AbortSignal | undefined;
}

/** Returns the chunks of a reply. A lost connection is replaced, so that each arrives once. */
async function* chunksOf(
  first: Response,
  again: (hasStarted: boolean) => Promise<Response>,
  signal: AbortSignal,
): AsyncGenerator<UIMessageChunk, void> {
  const received = new ReceivedChunks();
  for (let response = first, attempt = 0; ; attempt += 1) {
    if (response.body === null) throw new Rejection("The reply is no longer available. Load the messages again.");
    const newIn = received.newIn();
    let error: unknown = new Error("the reply was cut");
    try {
      for await (const { data } of readEvents(response.body)) {
        if (data === "[DONE]") return;
        const chunk = newIn(JSON.parse(data) as UIMessageChunk);
        if (chunk === undefined) continue;
        attempt = 0;
        yield chunk;
      }
    } catch (caught) {
      signal.throwIfAborted();
      if (caught instanceof Rejection) throw caught;
      error = caught;
    }
    // After a new part, the connection is replaced at once.
    if (attempt > 0) await pause(attempt, error, signal);
    response = await repeat(() => again(received.hasStarted), signal);
  }
}

const rejectOnAbort = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true }));

/** Requests a reply and returns its chunks; null if there is none. */
export const openReply = async (request: ReplyRequest): Promise<ReadableStream<UIMessageChunk> | null> => {
  const { follow, send = follow, isRepeatable = send === follow, stop, abortSignal } = request;
  abortSignal?.throwIfAborted();
  const closing = new AbortController();
  const { signal } = closing;
  const first = repeat(() => send(signal), abortSignal, isRepeatable ? undefined : 0);
  // React mounts twice in strict mode, and so stops a reply that it only begins to resume.
  let isStoppable = request.send !== undefined;
  const onAbort = async () => {
    const isStopped = isStoppable;
    // After the response: otherwise the message could arrive after the cancellation.
    await first.catch(() => {});
    if (isStopped) await stop().catch(() => {});
    closing.abort();
  };
  abortSignal?.addEventListener("abort", onAbort, { once: true });

  const response = await Promise.race([first, rejectOnAbort(abortSignal)]);
  if (response.status === 204) return null;
  isStoppable = true;
  const again = (hasStarted: boolean) => (isRepeatable && !hasStarted ? send(signal) : follow(signal));
  const chunks = chunksOf(response, again, signal);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (!done) return controller.enqueue(value);
      abortSignal?.removeEventListener("abort", onAbort);
      return controller.close();
    },
    cancel() {
      if (!abortSignal?.aborted) closing.abort();
    },
  });
};
