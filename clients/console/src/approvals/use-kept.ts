import { type RefObject, useCallback, useLayoutEffect, useState } from "react";
import { useDebounced } from "../ui/use-debounced.js";
import type { Turn } from "./waiting.js";

/** A turn whose calls wait, or have waited since the list was opened. */
export type ListedTurn = Turn & { isDecided?: boolean };

/** Returns a function that leaves turns in the list whose calls no longer wait, so that other calls do not take their places. */
export const useKept = (): ((turns: readonly ListedTurn[]) => ListedTurn[]) => {
  const [seen] = useState(() => new Map<string, ListedTurn>());
  return useCallback(
    (turns) => {
      const waiting = new Set(turns.map(({ id }) => id));
      for (const turn of turns) seen.set(turn.id, turn);
      // Ids are in the order of time, as the list is.
      return [...seen.values()]
        .sort((one, other) => (one.id < other.id ? 1 : -1))
        .map((turn) => (waiting.has(turn.id) ? turn : { ...turn, isDecided: true }));
    },
    [seen],
  );
};

/** The time in milliseconds after which a person has seen that an element has moved. */
const NOTICED = 700;

/** Returns whether an element has just appeared or moved in the page, so that a click on it may have been meant for another one. */
export const useHasMoved = (element: RefObject<HTMLElement | null>): boolean => {
  const [top, setTop] = useState<number>();
  useLayoutEffect(() => setTop(element.current?.offsetTop));
  return useDebounced(top, NOTICED) !== top;
};
