import type { UIMessageChunk } from "ai";
import { Rejection } from "../repeat.js";

/** The chunks of a reply that were received, of which repeated streams return the rest. */
export class ReceivedChunks {
  /** The number of characters of each text. */
  readonly #texts = new Map<string, number>();
  readonly #names = new Set<string>();
  #messageId: string | undefined;

  get hasStarted(): boolean {
    return this.#messageId !== undefined;
  }

  /** Returns a function for the chunks of one stream, which begins anew. It returns what is new in a chunk. */
  newIn(): (chunk: UIMessageChunk) => UIMessageChunk | undefined {
    const positions = new Map<string, number>();
    return (chunk) => {
      if (chunk.type === "text-delta") {
        const from = positions.get(chunk.id) ?? 0;
        const to = from + chunk.delta.length;
        positions.set(chunk.id, to);
        const known = this.#texts.get(chunk.id) ?? 0;
        if (to <= known) return undefined;
        this.#texts.set(chunk.id, to);
        return { ...chunk, delta: chunk.delta.slice(known - from) };
      }
      if (chunk.type === "start") this.#begin(chunk.messageId);
      const name = [chunk.type, "id" in chunk ? chunk.id : "", "toolCallId" in chunk ? chunk.toolCallId : ""].join(" ");
      if (this.#names.has(name)) return undefined;
      this.#names.add(name);
      return chunk;
    };
  }

  #begin(messageId: string | undefined): void {
    this.#messageId ??= messageId;
    if (messageId !== this.#messageId) throw new Rejection("Another reply has replaced this one. Load the messages again.");
  }
}
