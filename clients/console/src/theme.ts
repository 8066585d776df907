export type Theme = "system" | "light" | "dark";

const STORED = "agent-service-console:theme";

export const storedTheme = (): Theme => {
  const stored = localStorage.getItem(STORED);
  return stored === "light" || stored === "dark" ? stored : "system";
};

/** Applies a theme and keeps it. */
export const applyTheme = (theme: Theme = storedTheme()): void => {
  localStorage.setItem(STORED, theme);
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
};
