import { lost } from "./errors.js";
import type { components } from "./generated/schema.js";
import { readEvents } from "./sse.js";
import type { Transport, TransportRequest } from "./transport.js";

/** A part of a turn. The last one is `turn.completed`, `turn.failed` or `turn.cancelled`. */
export type TurnPart = components["schemas"]["ChatEvent"];

/** Returns true for the end of a turn. */
export const isLast = ({ type }: { type: string }): boolean => /^turn\.(completed|failed|cancelled)$/.test(type);

/** The parts of a turn that were received, of which repeated streams return the rest. */
class ReceivedParts {
  #turnId = "";
  #bytes = 0;
  readonly #names = new Set<string>();

  /** Returns what is new in a part; `undefined` if all of it was received before. */
  take(part: TurnPart): TurnPart | undefined {
    if (part.turnId !== this.#turnId) {
      this.#turnId = part.turnId;
      this.#bytes = 0;
      this.#names.clear();
    }
    if (part.type === "reply.delta") return this.#takeText(part);
    const name = "id" in part ? `${part.type} ${part.id}` : part.type;
    if (this.#names.has(name)) return undefined;
    this.#names.add(name);
    return part;
  }

  #takeText(part: Extract<TurnPart, { type: "reply.delta" }>): TurnPart | undefined {
    // Positions are in bytes of UTF-8.
    const known = this.#bytes - part.from;
    // A piece is missing.
    if (known < 0) throw lost();
    if (part.to <= this.#bytes) return undefined;
    this.#bytes = part.to;
    if (known === 0) return part;
    const rest = new TextEncoder().encode(part.text).subarray(known);
    return { ...part, from: part.from + known, text: new TextDecoder().decode(rest) };
  }
}

/**
 * Sends `request` and returns the parts of the turn that it starts or follows; nothing if the
 * response is empty. With `canRepeat`, a lost connection is replaced and the turn continues where
 * it was, so that every part is returned once. If the turn has failed meanwhile and can be repeated,
 * another turn takes its place: its parts have another `turnId`, and its reply begins anew.
 */
export async function* streamTurn(
  transport: Transport,
  request: TransportRequest,
  canRepeat: boolean,
): AsyncGenerator<TurnPart, void> {
  const received = new ReceivedParts();
  for (let attempt = 0; ; attempt += 1) {
    const { body } = await transport.send(request);
    if (body === null) return;
    let cause: unknown;
    try {
      for await (const { data } of readEvents(body)) {
        const part = received.take(JSON.parse(data) as TurnPart);
        if (part === undefined) continue;
        attempt = 0;
        // The last part has a position.
        transport.reached((part as { seq?: number }).seq as number);
        yield part;
        if (isLast(part)) return;
      }
    } catch (error) {
      request.signal?.throwIfAborted();
      cause = error;
    }
    const error = lost(cause);
    if (!canRepeat || !(await transport.pause(attempt, error, request.signal))) throw error;
  }
}
