import { type ReactNode, useEffect, useState } from "react";
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

/** The router of the pages. Links, Back and Forward ask before they leave unsaved changes. */
export const PageRouter = ({ base, children }: { base: string; children: ReactNode }) => {
  const [leave, setLeave] = useState<() => void>();
  useEffect(() => guardHistory({ isActive: () => hasChanges, ask: (leavePage) => setLeave(() => leavePage) }), []);
  return (
    <Router
      base={base}
      hook={useShownPath}
      searchHook={useShownSearch}
      aroundNav={(navigate, to, options) => {
        if (hasChanges) setLeave(() => () => navigate(to, options));
        else navigate(to, options);
      }}
    >
      {children}
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
