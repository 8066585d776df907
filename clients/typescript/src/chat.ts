import type { components } from "./generated/schema.js";
import { randomId } from "./random-id.js";
import type { WithUndefined } from "./rest.js";
import type { RequestOptions, Transport } from "./transport.js";
import { streamTurn, type TurnPart } from "./turn.js";

/** A message to an agent. */
export type ChatMessage = WithUndefined<Omit<components["schemas"]["ChatRequest"], "stream" | "files" | "responseSchema">> & {
  /** The ids of the files of the message, or what their uploads have returned. */
  files?: readonly (string | { id?: string | undefined })[] | undefined;
  /** The JSON Schema of the `output` of the reply. */
  responseSchema?: object | undefined;
};

/**
 * Sends a message and returns the parts of its turn. The message is stored once, however often the
 * connection is lost. Throws a `ProblemError` if the message is rejected, and a `ConnectionError`
 * if the service stays unreachable; the turn may then continue without this client.
 */
export const streamChat = <Output>(
  transport: Transport,
  message: ChatMessage,
  options: RequestOptions = {},
): AsyncGenerator<TurnPart<Output>, void> => {
  const request = {
    // A chat that is not stored ends with its connection, unless the caller gives it a key.
    ...(message.store !== false && { idempotencyKey: randomId() }),
    ...options,
    method: "POST",
    path: "/api/chat",
    body: { ...message, files: message.files?.map((file) => (typeof file === "string" ? file : file.id)), stream: true },
  };
  return streamTurn(transport, request, !!request.idempotencyKey) as AsyncGenerator<TurnPart<Output>, void>;
};
