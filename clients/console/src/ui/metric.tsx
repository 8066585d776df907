import type { ReactNode } from "react";

/** Figures of a page, each with its name. */
export const Metrics = ({ children }: { children: ReactNode }) => <dl className="metrics">{children}</dl>;

export const Metric = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="metric">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
