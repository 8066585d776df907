// Calls that wait for the page, in a browser: each is made by one of its tabs, over reloads.
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Settings } from "./pages/tab.js";
import { messagesOf, send, startPages, stateOf } from "./pages.js";

let pages: Awaited<ReturnType<typeof startPages>>;
let context: BrowserContext;
let settings: Settings;

beforeAll(async () => {
  pages = await startPages();
});
afterAll(() => pages?.stop());
beforeEach(async () => {
  const { service } = pages;
  context = await pages.newContext();
  const token = service.key("chat:write,conversations:read,events:read");
  const cart = { name: "open_cart", run: "client", description: "Opens the cart.", parameters: { type: "object" } };
  const agentId = await service.newAgent({ tools: [{ name: "calculator", approval: "always" }, cart] });
  settings = { url: service.url, token, agentId, key: "tools", hasTools: true };
});
afterEach(() => context.close());

const openTab = (hasTools = true, script?: () => void): Promise<Page> =>
  pages.open(context, { ...settings, hasTools }, async (page) => {
    if (script) await page.addInitScript(script);
  });
const reload = async (tab: Page, hasTools = true): Promise<void> => {
  await tab.reload();
  await tab.evaluate((given) => window.start(given), { ...settings, hasTools });
};
const callsIn = (tab: Page) => tab.evaluate(() => Number(localStorage.calls ?? 0));
const hold = (tab: Page, isHeld: boolean) => tab.evaluate((value) => void (localStorage.isHeld = value), isHeld ? "1" : "");
const statusOf = async (tab: Page) => (await stateOf(tab)).status;
const expectAnswered = async (...tabs: Page[]): Promise<void> => {
  for (const tab of tabs) {
    await expect.poll(async () => (await messagesOf(tab)).at(-1)).toMatch(/^complete Let me see\. \s+It returned .*open/);
    await expect.poll(() => statusOf(tab)).toBe("ready");
  }
  expect(await pages.service.turns(settings.agentId, settings.key)).toEqual(["completed"]);
};

test("of several tabs, one answers, once", async () => {
  const [first, sender, last] = [await openTab(), await openTab(), await openTab()];
  await send(sender, "call open_cart");
  await expectAnswered(first, sender, last);
  expect(await callsIn(first)).toBe(1);
});

test("a call that waits survives a reload, and is answered by tabs that load at once", async () => {
  const [tab, other] = [await openTab(false), await openTab(false)];
  await send(tab, "call open_cart");
  for (const page of [tab, other]) await expect.poll(() => statusOf(page)).toBe("requires_action");
  await reload(tab, false);
  expect((await stateOf(tab)).messages).toMatchObject([
    { status: "complete", text: "call open_cart" },
    { status: "requires_action", text: "Let me see. ", toolCalls: [{ name: "open_cart", status: "waiting", needs: "output" }] },
  ]);
  await Promise.all([reload(tab), reload(other)]);
  await expectAnswered(tab, other);
  expect(await callsIn(tab)).toBe(1);
});

test("if the tab that runs a tool is closed, another one runs it", async () => {
  const [tab, other] = [await openTab(false), await openTab(false)];
  await send(tab, "call open_cart");
  await expect.poll(() => statusOf(other)).toBe("requires_action");
  await hold(tab, true);
  await reload(tab);
  await expect.poll(() => callsIn(other)).toBe(1);
  await reload(other);
  await tab.close();
  await expect.poll(() => callsIn(other)).toBe(2);
  await hold(other, false);
  await expectAnswered(other);
  expect(await callsIn(other)).toBe(2);
});

test("a reload while a tool runs runs it again", async () => {
  const tab = await openTab();
  await hold(tab, true);
  await send(tab, "call open_cart");
  await expect.poll(() => callsIn(tab)).toBe(1);
  await reload(tab);
  await hold(tab, false);
  await expectAnswered(tab);
  expect(await callsIn(tab)).toBe(2);
});

test("without Web Locks, the first answer counts", async () => {
  const withoutLocks = () => Object.defineProperty(Navigator.prototype, "locks", { value: undefined });
  const [sender, other] = [await openTab(true, withoutLocks), await openTab(true, withoutLocks)];
  await send(sender, "call open_cart");
  await expectAnswered(sender, other);
});

test("an approval in one tab is shown in the other, also after its reload", async () => {
  const [tab, other] = [await openTab(), await openTab()];
  await send(tab, "call calculator");
  await expect.poll(() => statusOf(other)).toBe("requires_action");
  await reload(other);
  expect(await statusOf(other)).toBe("requires_action");
  await other.evaluate(() => {
    const { messages } = window.tab.chat.getSnapshot();
    return window.tab.chat.approve(messages.at(-1)!.toolCalls[0]!.id);
  });
  for (const page of [tab, other]) {
    await expect.poll(() => statusOf(page)).toBe("ready");
    expect((await stateOf(page)).messages.at(-1)).toMatchObject({ status: "complete", toolCalls: [{ status: "ok", result: "408" }] });
  }
});
