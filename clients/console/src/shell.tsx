import { type ReactNode, useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { WaitingCount } from "./approvals/waiting.js";
import { AccountMenu } from "./session/account-menu.js";
import { ErrorBoundary } from "./ui/error-boundary.js";
import { Brand, Icon, type IconName } from "./ui/icon.js";

const SECTIONS: readonly (readonly [path: string, label: string, icon: IconName])[] = [
  ["/agents", "Agents", "agents"],
  ["/chat", "Chat", "chat"],
  ["/conversations", "Conversations", "conversations"],
  ["/feedback", "Feedback", "thumbUp"],
  ["/approvals", "Approvals", "approvals"],
  ["/activity", "Activity", "activity"],
  ["/access", "Access", "access"],
  ["/health", "Health", "health"],
];

const Navigation = () => {
  const [location] = useLocation();
  return (
    <nav className="navigation" aria-label="Sections">
      <ul>
        {SECTIONS.map(([path, label, icon]) => (
          <li key={path}>
            <Link href={path} {...(location.startsWith(path) ? { "aria-current": "page" as const } : {})}>
              <Icon name={icon} />
              {label}
              {path === "/approvals" && <WaitingCount />}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
};

/** The frame around all pages. */
export const Shell = ({ children }: { children: ReactNode }) => {
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  // A new page begins at its top, and screen readers continue there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each location is a page.
  useEffect(() => {
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
    window.scrollTo(0, 0);
  }, [location]);
  return (
    <div className="shell">
      <a
        className="skip-link"
        href={location}
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <header className="sidebar">
        <Link href="/agents" className="brand">
          <Brand /> Agent Service
        </Link>
        <Navigation />
        <AccountMenu />
      </header>
      <main className="main" ref={main} tabIndex={-1}>
        <div className="page">
          <ErrorBoundary key={location}>{children}</ErrorBoundary>
        </div>
      </main>
    </div>
  );
};
