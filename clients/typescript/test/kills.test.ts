// Qualities 3 and 4: a page that dies between sending and the answer sends once, and half a reply
// never looks complete.
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { randomSource } from "./chaos.js";
import type { Settings } from "./pages/tab.js";
import { messagesOf, send, startPages, stateOf, words } from "./pages.js";

/** The number of pages that die: 200 in a full run. */
const KILLS = Number(process.env.KILLS ?? 40);
const PAGES = 4;
/** Milliseconds from sending to the death of the page, at most: the reply takes about as long. */
const LONGEST_LIFE = 60;

let pages: Awaited<ReturnType<typeof startPages>>;
let context: BrowserContext;

beforeAll(async () => {
  pages = await startPages();
  context = await pages.newContext();
});
afterAll(() => pages?.stop());

const whole = words(10);
const message = "words 10 6";
let interrupted = 0;

/** Sends a message, and reloads the page at a random moment, which ends its scripts at once. */
const kill = async (page: Page, settings: Settings, text: string, life: number): Promise<void> => {
  await page.evaluate((given) => window.start(given), settings);
  await send(page, text);
  await new Promise((resolve) => setTimeout(resolve, life));
  const completed = await page.evaluate(() => window.tab.completed);
  for (const reply of completed) expect(reply).toBe(whole);
  await page.reload();
  interrupted += await page.evaluate(() => sessionStorage.length);
  await page.evaluate((given) => window.start(given), settings);
};

test("a page that dies sends its message exactly once", { timeout: 180_000 }, async () => {
  const { service } = pages;
  const token = service.key("chat:write,conversations:read,events:read");
  const random = randomSource(7);
  const agentId = await service.newAgent();
  const runs = Array.from({ length: KILLS }, (_, index) => ({ key: `killed-${index}`, life: random(LONGEST_LIFE) }));
  const work = async () => {
    const first = runs.pop()!;
    const settings = { url: service.url, token, agentId, key: first.key };
    const page = await pages.open(context, settings);
    for (let run: typeof first | undefined = first; run; run = runs.pop()) {
      const own = { ...settings, key: run.key };
      await kill(page, own, message, run.life);
      await expect.poll(() => messagesOf(page), { timeout: 10_000 }).toEqual([`complete ${message}`, `complete ${whole}`]);
      expect(await page.evaluate(() => window.tab.completed.filter((text, index, all) => text !== all[index - 1]))).toEqual([whole]);
      expect((await stateOf(page)).status).toBe("ready");
      await expect.poll(() => service.turns(agentId, run.key)).toEqual(["completed"]);
      expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    }
    await page.close();
  };
  await Promise.all(Array.from({ length: PAGES }, work));
  // Most of the pages have died before the answer.
  expect(interrupted).toBeGreaterThan(KILLS / 2);
});

test("a page that dies shows a failed turn as failed", async () => {
  const { service } = pages;
  const token = service.key("chat:write,conversations:read,events:read");
  const agentId = await service.newAgent();
  const settings = { url: service.url, token, agentId, key: "failed" };
  const page = await pages.open(context, settings);
  for (const life of [0, 10, 30]) {
    await kill(page, { ...settings, key: `failed-${life}` }, "fail 3", life);
    await expect.poll(async () => (await stateOf(page)).messages.map(({ status }) => status)).toContain("failed");
    const { messages, error } = await stateOf(page);
    expect(messages.map(({ status }) => status)).not.toContain("complete");
    if (error) expect(error).toMatchObject({ code: "engine_failed", retryable: true });
  }
  await page.close();
});
