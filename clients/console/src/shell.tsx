import { Menu } from "@base-ui/react/menu";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useSession, useSessions } from "./session/session.js";
import { applyTheme, storedTheme, type Theme } from "./theme.js";
import { Brand, Icon, type IconName } from "./ui/icon.js";

const SECTIONS: readonly (readonly [path: string, label: string, icon: IconName])[] = [
  ["/agents", "Agents", "agents"],
  ["/chat", "Chat", "chat"],
  ["/conversations", "Conversations", "conversations"],
  ["/activity", "Activity", "activity"],
  ["/access", "Access", "access"],
  ["/health", "Health", "health"],
];

const Navigation = () => {
  const [location] = useLocation();
  const current = useRef<HTMLAnchorElement>(null);
  const section = SECTIONS.find(([path]) => location.startsWith(path))?.[0];
  // On phones the navigation scrolls sideways.
  useEffect(() => current.current?.scrollIntoView({ block: "nearest", inline: "center" }), [section]);
  return (
    <nav className="sidebar" aria-label="Sections">
      <ul>
        {SECTIONS.map(([path, label, icon]) => (
          <li key={path}>
            <Link href={path} {...(section === path ? { "aria-current": "page" as const, ref: current } : {})}>
              <Icon name={icon} />
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
};

const THEMES: readonly (readonly [Theme, string])[] = [
  ["system", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

const AccountMenu = () => {
  const { principal } = useSession();
  const { signOut } = useSessions();
  const [, navigate] = useLocation();
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Menu.Root>
      <Menu.Trigger className="button quiet account">
        <Icon name="user" />
        <span className="truncate account-name">{principal.tenantId}</span>
        <span className="visually-hidden">Account</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="popup-positioner" sideOffset={6} align="end">
          <Menu.Popup className="popup menu">
            <div className="menu-heading small muted mono">{principal.id}</div>
            <Menu.Item className="option" onClick={() => navigate("/account")}>
              Credential and limits
            </Menu.Item>
            <Menu.Separator className="menu-separator" />
            <Menu.RadioGroup
              value={theme}
              onValueChange={(chosen: Theme) => {
                setTheme(chosen);
                applyTheme(chosen);
              }}
            >
              <Menu.Group>
                <Menu.GroupLabel className="menu-heading small muted">Colours</Menu.GroupLabel>
                {THEMES.map(([value, label]) => (
                  <Menu.RadioItem key={value} className="option" value={value}>
                    <span className="option-check">
                      <Menu.RadioItemIndicator>
                        <Icon name="check" size={14} />
                      </Menu.RadioItemIndicator>
                    </span>
                    {label}
                  </Menu.RadioItem>
                ))}
              </Menu.Group>
            </Menu.RadioGroup>
            <Menu.Separator className="menu-separator" />
            <Menu.Item className="option" onClick={() => signOut()}>
              Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
};

/** The frame around all pages. */
export const Shell = ({ children }: { children: ReactNode }) => {
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  // A new page begins at its top, and screen readers continue there.
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
      <header className="topbar">
        <Link href="/agents" className="brand">
          <Brand /> Agent Service
        </Link>
        <AccountMenu />
      </header>
      <Navigation />
      <main className="main" ref={main} tabIndex={-1}>
        <div className="page">{children}</div>
      </main>
    </div>
  );
};
