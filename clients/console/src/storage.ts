/**
 * Returns a storage of the browser. Where the browser forbids it, such as with all site data blocked,
 * nothing is stored.
 */
export const openStorage = (name: "localStorage" | "sessionStorage"): Pick<Storage, "getItem" | "setItem" | "removeItem"> => {
  const attempt = <Result>(use: (storage: Storage) => Result): Result | undefined => {
    try {
      return use(window[name]);
    } catch {
      return undefined;
    }
  };
  return {
    getItem: (key) => attempt((storage) => storage.getItem(key)) ?? null,
    setItem: (key, value) => attempt((storage) => storage.setItem(key, value)),
    removeItem: (key) => attempt((storage) => storage.removeItem(key)),
  };
};
