import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";

interface PageHeaderProps {
  title: string;
  /** What to show instead of the title, such as a title with a link. */
  heading?: ReactNode;
  /** The list that the page belongs to. */
  back?: readonly [path: string, name: string];
  detail?: ReactNode;
  /** Beside the title. */
  status?: ReactNode;
  /** Buttons at the end. */
  children?: ReactNode;
}

/** The heading of a page, which also names the tab of the browser. */
export const PageHeader = ({ title, heading = title, back, detail, status, children }: PageHeaderProps) => {
  useEffect(() => {
    document.title = `${title} – Agent Service`;
  }, [title]);
  return (
    <header className="page-header">
      <div className="page-title">
        {back !== undefined && (
          <Link href={back[0]} className="back">
            ← {back[1]}
          </Link>
        )}
        <div className="row">
          <h1 dir="auto">{heading}</h1>
          {status}
        </div>
        {detail !== undefined && <div className="muted small">{detail}</div>}
      </div>
      {children !== undefined && <div className="row">{children}</div>}
    </header>
  );
};
