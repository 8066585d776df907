/** A state that changes by itself, as `useSyncExternalStore` and other frameworks read it. */
export interface LiveState<State> {
  /** Returns the current state; the same object until it changes. */
  getSnapshot(this: void): State;
  /** Calls `listener` after each change. Returns a function that ends this. */
  subscribe(this: void, listener: () => void): () => void;
}

/** A live state that its owner changes. */
export interface MutableState<State> extends LiveState<State> {
  update(this: void, change: (state: State) => State): void;
}

export const createState = <State>(state: State): MutableState<State> => {
  const listeners = new Set<() => void>();
  return {
    getSnapshot: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    update(change) {
      const next = change(state);
      if (next === state) return;
      state = next;
      for (const listener of [...listeners]) {
        try {
          listener();
        } catch (error) {
          // Neither the owner of the state nor another listener depends on it.
          console.error(error);
        }
      }
    },
  };
};
