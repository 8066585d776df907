/** Where unsent messages are kept over a reload: `sessionStorage`, or anything with its methods. */
export interface KeyValueStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** Keeps values for as long as the page lives, where there is no `sessionStorage`. */
export const memoryStorage = (): KeyValueStorage => {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
};

export const defaultStorage = (): KeyValueStorage => {
  try {
    return globalThis.sessionStorage ?? memoryStorage();
  } catch {
    // The page may not use it.
    return memoryStorage();
  }
};

/** A value with listeners, in the form that `useSyncExternalStore` and other frameworks read. */
export class Store<State> {
  #state: State;
  readonly #listeners = new Set<() => void>();

  constructor(state: State) {
    this.#state = state;
  }

  readonly getSnapshot = (): State => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  update(change: (state: State) => State): void {
    const next = change(this.#state);
    if (next === this.#state) return;
    this.#state = next;
    for (const listener of [...this.#listeners]) listener();
  }
}
