import type { OwnMessage } from "./message.js";
import { report } from "./report.js";

/** Storage for unsent messages that survives a reload: `sessionStorage`, or anything with its methods. */
export interface KeyValueStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** A message that was sent, and whose turn is not known to have ended. */
export interface Unsent {
  message: OwnMessage;
  idempotencyKey: string;
  /** The newest message when this one was sent. A replacement is not sent again after another one. */
  after: string | undefined;
}

/** The messages of one conversation and one principal that a reload must neither lose nor repeat. */
export interface Outbox {
  /** Keeps the messages in storage: `owner` identifies the service, the principal and the conversation. */
  open(owner: readonly (string | undefined)[]): void;
  /** Returns the kept messages in the order in which they were sent. */
  read(): Unsent[];
  add(unsent: Unsent): void;
  /** Keeps a message that was added as it is now. */
  update(unsent: Unsent): void;
  remove(unsent: Unsent): void;
}

/** What is reported where the storage fails. */
const LOST = "A reload loses unsent messages";

/** Returns true unless another program has written an entry. */
const isUnsent = (entry: Partial<Unsent> | null): entry is Unsent =>
  entry?.message instanceof Object && /^[\w-]{20,255}$/.test(entry.idempotencyKey ?? "");

/**
 * Returns an outbox. What `storage` does not accept is kept in memory, and a reload loses it: it can
 * be absent, full, or forbidden, as in a sandboxed frame.
 */
export const createOutbox = (storage: () => KeyValueStorage | undefined): Outbox => {
  let name = "";
  const memory: Unsent[] = [];
  /** The keys of the messages that were removed, even if the storage still has them. */
  const removed = new Set<string>();
  const isKept = ({ idempotencyKey }: Unsent) => !removed.has(idempotencyKey);

  const readStored = (): Unsent[] => {
    try {
      return (JSON.parse(storage()?.getItem(name) ?? "[]") as (Partial<Unsent> | null)[]).filter(isUnsent).filter(isKept);
    } catch (error) {
      // It may be what another program has written.
      report(LOST, error);
      return [];
    }
  };

  const write = (kept: Unsent[]): void => {
    try {
      // The contents of files do not survive the page.
      const text = JSON.stringify(kept, (_, value) => (value instanceof Blob ? undefined : value));
      if (kept.length > 0) storage()?.setItem(name, text);
      else storage()?.removeItem(name);
    } catch (error) {
      report(LOST, error);
    }
  };

  const add = (unsent: Unsent): void => {
    const stored = readStored();
    if (name) write([...stored, unsent]);
    if (readStored().length === stored.length) memory.push(unsent);
  };

  return {
    open(owner) {
      name = `agent-service:${JSON.stringify(owner)}`;
      memory.splice(0).filter(isKept).forEach(add);
    },
    read: () => [...readStored(), ...memory.filter(isKept)],
    add,
    update: (unsent) => write(readStored().map((known) => (known.idempotencyKey === unsent.idempotencyKey ? unsent : known))),
    remove({ idempotencyKey }) {
      removed.add(idempotencyKey);
      write(readStored());
    },
  };
};
