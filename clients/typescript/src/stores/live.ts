import type { Store } from "../store.js";

/** A state that follows the service while it has listeners, as `useSyncExternalStore` and other frameworks read it. */
export interface Live<State> {
  /** Returns the current state; the same object until it changes. */
  getSnapshot(): State;
  /** Calls `listener` after each change. Returns a function that ends this. */
  subscribe(listener: () => void): () => void;
}

/** Returns a live state. `start` keeps `store` up to date until its signal aborts. */
export const live = <State>(store: Store<State>, start: (signal: AbortSignal) => void): Live<State> => {
  let listeners = 0;
  let closing = new AbortController();
  const subscribe = (listener: () => void) => {
    const unsubscribe = store.subscribe(() => listener());
    let isSubscribed = true;
    listeners += 1;
    if (listeners === 1) {
      closing = new AbortController();
      start(closing.signal);
    }
    return () => {
      if (!isSubscribed) return;
      isSubscribed = false;
      unsubscribe();
      listeners -= 1;
      if (listeners === 0) closing.abort();
    };
  };
  return { getSnapshot: store.getSnapshot, subscribe };
};
