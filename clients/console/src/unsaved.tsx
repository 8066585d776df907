import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { Router } from "wouter";
import { guardHistory, useShownPath, useShownSearch } from "./page-location.js";
import { Confirm } from "./ui/dialog.js";

/** Whether the page has changes that were not saved. There is one page at a time. */
let hasChanges = false;

/** Asks before a page with unsaved changes is left. */
export const useUnsaved = (isChanged: boolean): void => {
  useEffect(() => {
    if (!isChanged) return;
    const warn = (event: BeforeUnloadEvent) => hasChanges && event.preventDefault();
    hasChanges = true;
    window.addEventListener("beforeunload", warn);
    return () => {
      hasChanges = false;
      window.removeEventListener("beforeunload", warn);
    };
  }, [isChanged]);
};

/** Lets the page be left without a question, because its changes were saved or given up. */
export const forgetChanges = (): void => {
  hasChanges = false;
};

const Context = createContext<(leave: () => void) => void>((leave) => leave());

/** Returns a function that calls another one, which leaves the page; first it asks if there are unsaved changes. */
export const useLeave = (): ((leave: () => void) => void) => useContext(Context);

/** The router of the pages. Links, Back, Forward and signing out ask before they leave unsaved changes. */
export const PageRouter = ({ base, children }: { base: string; children: ReactNode }) => {
  const [leave, setLeave] = useState<() => void>();
  const [path] = useShownPath();
  const ask = (leavePage: () => void) => setLeave(() => leavePage);
  const leaveOrAsk = (leavePage: () => void) => (hasChanges ? ask(leavePage) : leavePage());
  // biome-ignore lint/correctness/useExhaustiveDependencies: `ask` only sets a state.
  useEffect(() => guardHistory({ isActive: () => hasChanges, ask }), []);
  return (
    <Router
      base={base}
      hook={useShownPath}
      searchHook={useShownSearch}
      // Another search, such as that of a tab, shows the same page.
      aroundNav={(navigate, to, options) => (to.split("?")[0] === path ? navigate(to, options) : leaveOrAsk(() => navigate(to, options)))}
    >
      <Context.Provider value={leaveOrAsk}>{children}</Context.Provider>
      {leave !== undefined && (
        <Confirm
          title="Leave without saving?"
          action="Discard the changes"
          onClose={() => setLeave(undefined)}
          onConfirm={() => {
            forgetChanges();
            leave();
          }}
        >
          <p>Your changes of this agent are lost.</p>
        </Confirm>
      )}
    </Router>
  );
};
