import { Menu } from "@base-ui/react/menu";
import { useState } from "react";
import { useLocation } from "wouter";
import { applyTheme, storedTheme, type Theme } from "../theme.js";
import { Icon } from "../ui/icon.js";
import { useLeave } from "../unsaved.js";
import { useSession, useSessions } from "./session.js";

const THEMES: readonly (readonly [Theme, string])[] = [
  ["system", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

/** Who is signed in, the colours, and signing out. */
export const AccountMenu = () => {
  const { principal } = useSession();
  const { signOut, isKept, keep } = useSessions();
  const leave = useLeave();
  const [, navigate] = useLocation();
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Menu.Root>
      <Menu.Trigger className="button quiet account">
        <Icon name="user" />
        <span className="account-name">
          <span className="truncate">{principal.tenantId}</span>
          <span className="truncate muted account-id">{principal.id}</span>
        </span>
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
            <Menu.CheckboxItem className="option" checked={isKept} onCheckedChange={keep}>
              <span className="option-check">
                <Menu.CheckboxItemIndicator>
                  <Icon name="check" size={14} />
                </Menu.CheckboxItemIndicator>
              </span>
              Stay signed in in this tab
            </Menu.CheckboxItem>
            <Menu.Item className="option" onClick={() => leave(signOut)}>
              Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
};
