// The packages of each major version of the AI SDK, under the names that pages import.
export const packagesOf = (major) => ({ ai: `ai-${major}`, "@ai-sdk/react": `@ai-sdk/react-${major}` });

// What a person does after a cut: `useChat` shows an error, and goes on when the person returns to
// the page.
export const returnToPage = async ({ page }) => {
  await page.waitForSelector("[role=alert]");
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
};
