import type { ChatMessage } from "./chat.js";
import type { KeyValueStorage } from "./store.js";

/** A message that was sent, and whose turn is not known to have ended. */
export interface Unsent {
  message: ChatMessage;
  idempotencyKey: string;
  /** The newest message when this one was sent. A replacement is not sent again after another one. */
  after: string | undefined;
}

/** The messages of one conversation and one principal that a reload must neither lose nor repeat. */
export class Outbox {
  readonly #storage: KeyValueStorage;
  readonly #name: string;
  /** The messages, if they cannot be stored. */
  #unstored: Unsent[] | undefined;

  /** `owner` identifies the service, the principal and the conversation. */
  constructor(storage: KeyValueStorage, owner: readonly string[]) {
    this.#storage = storage;
    this.#name = `agent-service:${JSON.stringify(owner)}`;
  }

  /** Returns the kept messages in the order in which they were sent. */
  read(): Unsent[] {
    if (this.#unstored !== undefined) return this.#unstored;
    try {
      const kept: unknown = JSON.parse(this.#storage.getItem(this.#name) ?? "[]");
      return Array.isArray(kept) ? (kept as Unsent[]) : [];
    } catch {
      // Another program has written to this name.
      return [];
    }
  }

  add(unsent: Unsent): void {
    this.#write([...this.read(), unsent]);
  }

  remove({ idempotencyKey }: Unsent): void {
    this.#write(this.read().filter((kept) => kept.idempotencyKey !== idempotencyKey));
  }

  #write(kept: Unsent[]): void {
    try {
      if (kept.length === 0) this.#storage.removeItem(this.#name);
      else this.#storage.setItem(this.#name, JSON.stringify(kept));
      this.#unstored = undefined;
    } catch {
      // The storage is full: the messages are sent, but a reload loses them.
      this.#unstored = kept;
    }
  }
}
