import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { servePage, startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import { startService } from "../../../crates/api/tests/clients/service.mjs";
import type {} from "./pages/tab.js";

let page: Awaited<ReturnType<typeof servePage>>;
let service: Awaited<ReturnType<typeof startService>>;
let browser: Browser;
let context: BrowserContext;
let settings: { url: string; token: string; agentId: string; key: string };
let sockets: string[];

beforeAll(async () => {
  page = await servePage({ folder: fileURLToPath(new URL("./pages", import.meta.url)), file: "tab.ts" });
  service = await startService({ SERVER__ALLOWED_ORIGINS: page.origin });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  page?.stop();
  await service?.stop();
});
beforeEach(async () => {
  context = await browser.newContext();
  sockets = [];
  const token = service.key("chat:write,conversations:read,events:read");
  settings = { url: service.url, token, agentId: await service.newAgent(), key: "tabs" };
});
afterEach(() => context.close());

const openTab = async (): Promise<Page> => {
  const tab = await context.newPage();
  tab.on("websocket", (socket) => sockets.push(socket.url()));
  await tab.goto(page.origin);
  await tab.evaluate((given) => window.start(given), settings);
  return tab;
};

const messagesOf = (tab: Page) => tab.evaluate(() => window.tab.chat.getSnapshot().messages.map(({ text, status }) => `${status} ${text}`));
const repliesOf = (tab: Page) => tab.evaluate(() => window.tab.replies);
const eventsOf = (tab: Page) => tab.evaluate(() => window.tab.events);
const send = (tab: Page, text: string) => tab.evaluate((message) => void window.tab.chat.send(message), text);

const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index + 1} `).join("");

/** Each text that was shown continues the one before: nothing is missing, and nothing is shown twice. */
const expectGrowth = (replies: string[], whole: string): void => {
  for (const [index, text] of replies.entries()) {
    expect(whole.startsWith(text), text).toBe(true);
    expect(text.length).toBeGreaterThan(replies[index - 1]?.length ?? -1);
  }
  expect(replies.at(-1)).toBe(whole);
};

test("a reply grows in every tab, also when the leader is closed in mid-reply", async () => {
  const [leader, sender, other] = [await openTab(), await openTab(), await openTab()];
  expect(sockets).toHaveLength(1);
  await send(sender, "words 60 25");
  for (const tab of [leader, other]) await expect.poll(async () => (await repliesOf(tab)).length).toBeGreaterThan(3);
  await leader.close();
  for (const tab of [sender, other]) {
    await expect.poll(() => messagesOf(tab), { timeout: 10_000 }).toEqual(["complete words 60 25", `complete ${words(60)}`]);
    expectGrowth(await repliesOf(tab), words(60));
    await expect.poll(async () => (await eventsOf(tab)).length).toBe(3);
  }
  expect((await repliesOf(other)).length).toBeGreaterThan(20);
  expect(await eventsOf(other)).toEqual(await eventsOf(sender));
  expect(sockets).toHaveLength(2);
});
