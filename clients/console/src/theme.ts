import { openStorage } from "./storage.js";

export type Theme = "system" | "light" | "dark";

const STORED = "agent-service-console:theme";
const storage = openStorage("localStorage");

export const storedTheme = (): Theme => {
  const stored = storage.getItem(STORED);
  return stored === "light" || stored === "dark" ? stored : "system";
};

/** Applies a theme and keeps it. */
export const applyTheme = (theme: Theme = storedTheme()): void => {
  storage.setItem(STORED, theme);
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
};
