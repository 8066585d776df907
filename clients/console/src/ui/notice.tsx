import type { Problem } from "agent-service-client";
import type { ReactNode } from "react";
import type { Scope } from "../session/scopes.js";
import { Button } from "./button.js";
import { PageHeader } from "./page-header.js";
import { ScopeName } from "./scope-name.js";

/** Returns the members of a problem in an error, if it has them. */
export const problemIn = (error: unknown): Problem | undefined =>
  typeof error === "object" && error !== null && "code" in error && "title" in error ? (error as Problem) : undefined;

/** Returns a short heading and a text for an error. */
export const describe = (error: unknown): { title: string; detail: string } => {
  const problem = problemIn(error);
  if (problem !== undefined) return { title: problem.title, detail: problem.detail };
  return { title: "The console has failed.", detail: error instanceof Error ? error.message : String(error) };
};

interface ErrorNoticeProps {
  error: unknown;
  onRetry?: () => void;
  /** The page tries again by itself. */
  isRepeated?: boolean;
}

/** An error with the problem's code and request id, by which an operator finds it in the log. */
export const ErrorNotice = ({ error, onRetry, isRepeated = false }: ErrorNoticeProps) => {
  const { title, detail } = describe(error);
  const problem = problemIn(error);
  return (
    <div className="notice danger" role="alert">
      <strong>{title}</strong>
      {detail !== title && <p>{detail}</p>}
      {problem !== undefined && (
        <p className="small">
          <code>{problem.code}</code>
          {problem.requestId !== undefined && (
            <>
              {" "}
              · request <code>{problem.requestId}</code>
            </>
          )}
        </p>
      )}
      {isRepeated && <p className="small">Trying again every few seconds…</p>}
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
};

/** What a list shows when it has no entries. */
export const Empty = ({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) => (
  <div className="empty">
    <h2>{title}</h2>
    {children !== undefined && <p className="muted">{children}</p>}
    {action}
  </div>
);

export const Loading = ({ label = "Loading…" }: { label?: string }) => (
  <p className="loading muted" role="status">
    {label}
  </p>
);

/** The page that a credential may not use. */
export const MissingScope = ({ scope }: { scope: Scope }) => (
  <>
    <PageHeader title="No access" />
    <Empty title="Your credential may not see this">
      This page needs the scope <ScopeName scope={scope} />. Sign in with a key that has it.
    </Empty>
  </>
);
