import { lost } from "./errors.js";
import type { components } from "./generated/schema.js";
import { readEvents } from "./sse.js";
import type { Transport, TransportRequest } from "./transport.js";

type WithOutput<Part, Output> = Part extends { type: "turn.completed" } ? Omit<Part, "output"> & { output?: Output } : Part;

/**
 * A part of a turn. The last one is `turn.completed`, `turn.failed` or `turn.cancelled`, or `turn.requires_action`
 * while the turn waits for answers to tool calls. `Output` is what the schema of the reply describes: the service has
 * checked it.
 */
export type TurnPart<Output = unknown> = WithOutput<components["schemas"]["ChatEvent"], Output>;

/** Returns true for the end of a turn. */
export const isLast = ({ type }: { type: string }): boolean => /^turn\.(completed|failed|cancelled)$/.test(type);

/** Returns a function that returns what is new in a part; `undefined` if all of it was received before. */
const receivedParts = () => {
  let turn = "";
  let attempt = 1;
  let bytes: Record<string, number> = {};
  const names = new Set<string>();
  return (part: TurnPart): TurnPart | undefined => {
    const { turnId, id, attempt: next = turnId === turn ? attempt : 1 } = part as { turnId?: string; id?: string; attempt?: number };
    // A newer service may send something that is of no turn.
    if (!turnId) return undefined;
    // With the next attempt, another process goes on with the turn, and writes the reply anew.
    if (turnId !== turn || next > attempt) {
      turn = turnId;
      attempt = next;
      bytes = { "reply.delta": 0, "reasoning.delta": 0 };
    }
    if (!("from" in part)) {
      const name = `${part.type} ${turnId} ${attempt} ${id}`;
      if (names.has(name)) return undefined;
      names.add(name);
      // The stream of an answer continues the reply from a position that its next part tells.
      if (part.type === "turn.resumed") bytes = {};
      return part;
    }
    // Positions are in bytes of UTF-8.
    const { [part.type]: end = part.from } = bytes;
    const known = end - part.from;
    // A piece is missing.
    if (known < 0) throw lost();
    if (part.to <= end) return undefined;
    bytes[part.type] = part.to;
    if (known === 0) return part;
    const text = new TextDecoder().decode(new TextEncoder().encode(part.text).subarray(known));
    return { ...part, from: part.from + known, text };
  };
};

/**
 * Sends `request` and returns the parts of the turn that it starts or follows; nothing if the
 * response is empty. With `canRepeat`, a lost connection is replaced and the turn continues where
 * it was, so that every part is returned once. If the turn has failed meanwhile and can be repeated,
 * another turn takes its place: its parts have another `turnId`, and its reply begins anew.
 */
export async function* streamTurn(transport: Transport, request: TransportRequest, canRepeat: boolean): AsyncGenerator<TurnPart, void> {
  const takeNew = receivedParts();
  for (let attempt = 0; ; attempt += 1) {
    const { body } = await transport.send(request);
    // There is no turn to follow. A message always has one.
    if (body === null && !request.method) return;
    let cause: unknown;
    try {
      for await (const { data } of readEvents(body)) {
        const part = takeNew(JSON.parse(data) as TurnPart);
        if (part === undefined) continue;
        attempt = 0;
        // The last part has a position.
        transport.reached((part as { seq?: number }).seq);
        yield part;
        if (isLast(part) || part.type === "turn.requires_action") return;
      }
    } catch (error) {
      request.signal?.throwIfAborted();
      cause = error;
    }
    const error = lost(cause);
    if (!canRepeat || !(await transport.pause(attempt, error, request.signal))) throw error;
  }
}

/** Returns the parts of the turn in progress of a conversation, or of the one that has just ended. */
export const followTurn = (transport: Transport, conversationId: string, signal: AbortSignal | undefined): AsyncGenerator<TurnPart, void> =>
  streamTurn(transport, { path: `/api/conversations/${conversationId}/stream`, signal }, true);
