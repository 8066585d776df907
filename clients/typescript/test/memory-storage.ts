import type { KeyValueStorage } from "../src/index.js";

/** Returns what a page keeps over its reloads. */
export const memoryStorage = (): KeyValueStorage & { values: Map<string, string> } => {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
};
