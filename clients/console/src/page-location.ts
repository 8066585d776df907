// The address of the page that is shown. It follows that of the browser, unless the page is not to be left.
import { useSyncExternalStore } from "react";
import { basePath } from "./location.js";

/** Asks the user before Back and Forward leave the page. */
interface Guard {
  isActive: () => boolean;
  ask: (leave: () => void) => void;
}

let guard: Guard | undefined;

/** Returns the position of an entry in the history of the tab; that of the shown page if the console has not made the entry. */
const positionOf = (state: { position?: number } | null): number => state?.position ?? position;

let position: number = history.state?.position ?? 0;
history.replaceState({ position }, "");
/** The position that the user has asked for, while the browser returns to that of the page. */
let wanted: number | undefined;

/** wouter decodes an address as a whole, and so confuses characters with escaped ones; the pages decode each part. */
const escaped = (text: string): string => text.replaceAll("%", "%25");

const currentPath = () => {
  const { pathname } = window.location;
  return pathname.startsWith(basePath) ? basePath + escaped(pathname.slice(basePath.length)) : pathname;
};
const currentSearch = () => escaped(window.location.search);

let path = currentPath();
let search = currentSearch();
const listeners = new Set<() => void>();

const show = () => {
  path = currentPath();
  search = currentSearch();
  for (const listener of listeners) listener();
};

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

const navigate = (to: string, { replace = false }: { replace?: boolean } = {}): void => {
  if (!replace) position += 1;
  history[replace ? "replaceState" : "pushState"]({ position }, "", to);
  show();
};

window.addEventListener("popstate", ({ state }) => {
  const at = positionOf(state);
  if (at !== position && guard?.isActive()) {
    wanted = at;
    // The event of the return asks.
    history.go(position - at);
    return;
  }
  if (wanted !== undefined && at === position) {
    const distance = wanted - position;
    const leave = () => history.go(distance);
    wanted = undefined;
    if (guard?.isActive()) guard.ask(leave);
    else leave();
    return;
  }
  wanted = undefined;
  position = at;
  show();
});

/** Asks before Back and Forward leave the page while the guard is active. Returns a function that ends this. */
export const guardHistory = (added: Guard): (() => void) => {
  guard = added;
  return () => {
    guard = undefined;
  };
};

/** The path of the shown page, and a function that shows another one, for the router. */
export const useShownPath = (): [string, typeof navigate] => [useSyncExternalStore(subscribe, () => path), navigate];

/** The search of the shown page, for the router. */
export const useShownSearch = (): string => useSyncExternalStore(subscribe, () => search);
