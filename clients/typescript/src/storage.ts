/** Storage for unsent messages that survives a reload: `sessionStorage`, or anything with its methods. */
export interface KeyValueStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** Keeps values in memory if there is no storage, or if it is full: then a reload loses them. */
export const memoryStorage = (storage?: KeyValueStorage): KeyValueStorage => {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? storage?.getItem(key) ?? null,
    setItem(key, value) {
      values.set(key, value);
      try {
        storage?.setItem(key, value);
      } catch {
        // The value in memory remains.
      }
    },
    removeItem(key) {
      values.delete(key);
      storage?.removeItem(key);
    },
  };
};

export const defaultStorage = (): KeyValueStorage | undefined => {
  try {
    return globalThis.sessionStorage;
  } catch {
    // The browser forbids it, as in a sandboxed frame.
    return undefined;
  }
};
