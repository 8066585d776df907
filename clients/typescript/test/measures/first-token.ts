// The time from a click to the first text of a reply on a page that uses the hook, compared with the
// same page written by hand with `fetch`. Both are drawn by React, as every page that shows a reply.

import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { servePage, startBrowser } from "../../../../crates/api/tests/clients/browser.mjs";
import type { ChatSettings } from "../pages/chat.js";
import { startService } from "../service.js";

const SENDS = 100;
const MESSAGE = "words 3 1";
/** The longest time that the client may add, in milliseconds. */
const LIMIT = 5;

/** Sends a message by the form of the page, and returns the milliseconds to the first text of its reply. */
const sendIn = (page: Page): Promise<number> =>
  page.evaluate(async (message) => {
    const main = document.querySelector("main")!;
    const replies = main.getElementsByClassName("agent");
    const before = replies.length;
    const input = document.querySelector<HTMLInputElement>("input[name=text]")!;
    input.value = message;
    const start = performance.now();
    const first = new Promise<number>((resolve) => {
      const observer = new MutationObserver(() => {
        if (replies.length === before || replies[before]!.textContent === "") return;
        observer.disconnect();
        resolve(performance.now() - start);
      });
      observer.observe(main, { childList: true, subtree: true, characterData: true });
    });
    input.form!.requestSubmit();
    return first;
  }, MESSAGE);

const median = (values: number[]): number => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;

test("the page shows the first text almost as soon as one that is written by hand", async () => {
  const site = await servePage({ folder: fileURLToPath(new URL("../pages", import.meta.url)), file: "chat.tsx" });
  const service = await startService({ SERVER__ALLOWED_ORIGINS: site.origin });
  const browser = await startBrowser();
  try {
    const token = service.admin;
    const agentId = await service.newAgent();
    const open = async (isByHand: boolean): Promise<Page> => {
      const page: Page = await browser.newPage();
      await page.goto(site.origin);
      const settings: ChatSettings = { url: service.url, token, agentId, conversationKey: String(isByHand), isByHand };
      await page.evaluate((given) => window.showChat(given), settings);
      await page.getByRole("button", { name: "Send" }).waitFor();
      return page;
    };
    const [byHand, withHook] = [await open(true), await open(false)];
    const times: { byHand: number[]; withHook: number[] } = { byHand: [], withHook: [] };
    for (let send = 0; send < SENDS; send += 1) {
      await byHand.bringToFront();
      times.byHand.push(await sendIn(byHand));
      await byHand.waitForTimeout(150);
      await withHook.bringToFront();
      times.withHook.push(await sendIn(withHook));
      await withHook.waitForTimeout(150);
    }
    const [plain, shown] = [median(times.byHand), median(times.withHook)];
    console.log(`first text, median of ${SENDS}: by hand ${plain.toFixed(1)} ms, with the hook ${shown.toFixed(1)} ms`);
    expect(shown - plain).toBeLessThan(LIMIT);
  } finally {
    await browser.close();
    site.stop();
    await service.stop();
  }
});
