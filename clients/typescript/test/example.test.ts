import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import { startExample } from "./example.js";

let example: Awaited<ReturnType<typeof startExample>>;
let browser: Browser;

beforeAll(async () => {
  example = await startExample();
  browser = await startBrowser();
});
afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));
afterAll(async () => {
  await browser?.close();
  await example?.stop();
});

/** Opens the page as a visitor; a second time with the same `context` in another tab. */
const open = async (context?: BrowserContext): Promise<Page> => {
  const page = await (context ?? (await browser.newContext({ viewport: { width: 1000, height: 520 } }))).newPage();
  page.on("pageerror", (error) => expect.unreachable(error.message));
  await page.goto(example.url);
  return page;
};

const send = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
};
const texts = (page: Page) => page.locator("main p:not([role])").allInnerTexts();
const turnsOf = async (page: Page): Promise<string[]> => {
  const { data } = await example.client.conversations.list({ agentId: example.agentId });
  const shown = data.find(({ key }) => page.url().endsWith(`#${key}`));
  return shown ? (await example.client.conversations.listTurns(shown.id)).data.map(({ status }) => status) : [];
};
const listed = (page: Page) => page.locator("nav a").allInnerTexts();
const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index + 1} `).join("");

test("a reply is streamed, and the conversation and its events appear", async () => {
  const page = await open();
  await send(page, "words 30 20");
  await expect.poll(async () => (await texts(page))[1] ?? "").toMatch(/^word1 .*word5/);
  expect((await texts(page))[1]).not.toContain("word30");
  await expect.poll(() => texts(page)).toEqual(["words 30 20", words(30)]);
  await expect.poll(() => listed(page)).toEqual([expect.stringMatching(/^word1 /)]);
  await send(page, "Hello");
  await expect
    .poll(async () => (await page.locator("aside p").allInnerTexts()).slice(0, 2))
    .toEqual([expect.stringContaining("turn.completed"), expect.stringContaining("turn.started")]);
  await expect.poll(() => listed(page)).toEqual(["You said: Hello"]);
});

test("stop ends the reply, and the page answers again", async () => {
  const page = await open();
  await send(page, "hold");
  await expect.poll(() => texts(page)).toEqual(["hold", "First half, "]);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect.poll(() => turnsOf(page)).toEqual(["cancelled"]);
  await send(page, "Hello");
  await expect.poll(() => texts(page)).toEqual(["hold", "First half, ", "Hello", "You said: Hello"]);
});

test("a reload in the middle of a reply resumes it", async () => {
  const page = await open();
  await send(page, "hold");
  await expect.poll(() => texts(page)).toEqual(["hold", "First half, "]);
  await page.reload();
  await expect.poll(() => texts(page)).toEqual(["hold", "First half, "]);
  example.service.model.release();
  await expect.poll(() => texts(page)).toEqual(["hold", "First half, second half."]);
});

test("conversations are opened from the list, which is the same in all tabs", async () => {
  const page = await open();
    await send(page, "one");
  await expect.poll(() => texts(page)).toEqual(["one", "You said: one"]);
  await page.getByRole("button", { name: "New chat" }).click();
  await expect.poll(() => texts(page)).toEqual([]);
  const other = await open(page.context());
  await send(page, "two");
  for (const tab of [page, other]) await expect.poll(() => listed(tab)).toEqual(["You said: two", "You said: one"]);
  await page.bringToFront();
  await page.getByRole("link", { name: "You said: one" }).click();
  await expect.poll(() => texts(page)).toEqual(["one", "You said: one"]);
  await page.goBack();
  await expect.poll(() => texts(page)).toEqual(["two", "You said: two"]);
});

test("a failed turn is shown with its problem, and is tried again", async () => {
  const page = await open();
  await send(page, "fail 2");
  await expect.poll(() => page.getByRole("alert").innerText()).toMatch(/^The reply engine/);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect.poll(() => turnsOf(page)).toEqual(["failed", "failed"]);
});
