import type { ChatMessage } from "./chat.js";
import type { KeyValueStorage } from "./storage.js";

/** A message that was sent, and whose turn is not known to have ended. */
export interface Unsent {
  message: ChatMessage;
  idempotencyKey: string;
  /** The newest message when this one was sent. A replacement is not sent again after another one. */
  after: string | undefined;
}

/** The messages of one conversation and one principal that a reload must neither lose nor repeat. */
export interface Outbox {
  /** Returns the kept messages in the order in which they were sent. */
  read(): Unsent[];
  add(unsent: Unsent): void;
  remove(unsent: Unsent): void;
}

/** `owner` identifies the service, the principal and the conversation. */
export const openOutbox = (storage: KeyValueStorage, owner: readonly string[]): Outbox => {
  const name = `agent-service:${JSON.stringify(owner)}`;

  const read = (): Unsent[] => {
    try {
      const kept: unknown = JSON.parse(storage.getItem(name) ?? "[]");
      return Array.isArray(kept) ? (kept as Unsent[]) : [];
    } catch {
      // Another program has written to this name.
      return [];
    }
  };

  const write = (kept: Unsent[]): void =>
    kept.length === 0 ? storage.removeItem(name) : storage.setItem(name, JSON.stringify(kept));

  return {
    read,
    add: (unsent) => write([...read(), unsent]),
    remove: ({ idempotencyKey }) => write(read().filter((kept) => kept.idempotencyKey !== idempotencyKey)),
  };
};
