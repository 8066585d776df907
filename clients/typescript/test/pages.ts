// A service, and Chromium with pages of another origin that use it.
import { fileURLToPath } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import { servePage, startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import type { Settings } from "./pages/tab.js";
import { startService } from "./service.js";

export const startPages = async (settings: Record<string, string> = {}) => {
  const site = await servePage({ folder: fileURLToPath(new URL("./pages", import.meta.url)), file: "tab.ts" });
  const service = await startService({ SERVER__ALLOWED_ORIGINS: site.origin, ...settings });
  const browser = await startBrowser();
  return {
    service,
    /** The address of the pages. */
    origin: site.origin,
    newContext: () => browser.newContext(),
    /** Opens a page, which uses the client with these settings. */
    async open(context: BrowserContext, settings: Settings, prepare = async (_: Page) => {}, address = site.origin): Promise<Page> {
      const page = await context.newPage();
      await prepare(page);
      await page.goto(address);
      await page.evaluate((given) => window.start(given), settings);
      return page;
    },
    async stop() {
      await browser.close();
      site.stop();
      await service.stop();
    },
  };
};

export const send = (page: Page, text: string) => page.evaluate((message) => void window.tab.chat.send(message), text);
export const stateOf = (page: Page) =>
  page.evaluate(() => {
    const state = window.tab.chat.getSnapshot();
    // The members of errors are lost on the way to the test.
    return { ...state, error: state.error && { ...state.error } };
  });
export const messagesOf = async (page: Page) => (await stateOf(page)).messages.map(({ text, status }) => `${status} ${text}`);
export const repliesOf = (page: Page) => page.evaluate(() => window.tab.replies);
export const eventsOf = (page: Page) => page.evaluate(() => window.tab.events);

/** Returns the reply of the model to `words <count>`. */
export const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index + 1} `).join("");
