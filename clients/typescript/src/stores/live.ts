import type { LiveState, MutableState } from "../state.js";

/** Returns a state that follows the service while it has listeners. `start` keeps it up to date until its signal aborts. */
export const live = <State>(state: MutableState<State>, start: (signal: AbortSignal) => void): LiveState<State> => {
  let listeners = 0;
  let closing = new AbortController();
  const subscribe = (listener: () => void) => {
    const unsubscribe = state.subscribe(() => listener());
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
  return { getSnapshot: state.getSnapshot, subscribe };
};
