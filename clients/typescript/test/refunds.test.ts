import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import { send, startRefunds } from "./example.js";

let example: Awaited<ReturnType<typeof startRefunds>>;
let browser: Browser;
let folder: string;

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());
// Each has records of its own.
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "refunds-"));
  example = await startRefunds(join(folder, "records.json"), 2_000);
});
afterEach(async () => {
  await Promise.all(browser.contexts().map((context) => context.close()));
  await example.stop();
  rmSync(folder, { recursive: true });
});

const open = async (): Promise<Page> => {
  const page = await (await browser.newContext()).newPage();
  page.on("pageerror", (error) => expect.unreachable(error.message));
  await page.goto(example.url);
  return page;
};
const texts = (page: Page) => page.locator("article").allInnerTexts();
const records = (): { callId: string; orderId: string }[] => {
  try {
    return JSON.parse(readFileSync(join(folder, "records.json"), "utf8"));
  } catch {
    return [];
  }
};
const attempts = () => example.log.filter((line) => line.includes("attempt"));

/** Waits for a refund that staff is to approve, and returns how to approve it. */
const waitingRefund = async () => {
  const waiting = async () => (await example.client.turns.list({ waitingFor: "staff" })).data;
  await expect.poll(waiting).toHaveLength(1);
  const [turn] = await waiting();
  const [call] = turn!.toolCalls!;
  expect(call).toMatchObject({ name: "shop/issue_refund", arguments: { order: "A-77" }, status: "waiting" });
  return {
    callId: call!.id!,
    approve: () => example.client.turns.answer(turn!.id, { actions: [{ callId: call!.id!, decision: "approve" }] }),
  };
};

test("a refund that staff approves is issued once, and the page shows it, also after a reload", async () => {
  const page = await open();
  await send(page, "refund order A-77");
  await expect.poll(() => texts(page)).toEqual(["refund order A-77", expect.stringMatching(/^shop\/issue_refund: waiting\s+This waits/)]);
  const { callId, approve } = await waitingRefund();
  expect(records()).toEqual([]);
  await Promise.all([approve(), approve()]);
  await expect.poll(async () => (await texts(page))[2], { timeout: 20_000 }).toMatch(/Order A-77 is refunded: 49\.00 EUR\.$/);
  await approve();
  await page.reload();
  await expect.poll(async () => (await texts(page))[1]).toMatch(/^shop\/issue_refund: approved/);
  expect((await texts(page))[2]).toMatch(/^shop\/issue_refund: ok\s+Order A-77 is refunded: 49\.00 EUR\.$/);
  expect(records()).toMatchObject([{ callId, orderId: "A-77", userId: "grace" }]);
  expect(attempts()).toHaveLength(1);
});

test("a refund that runs when the service is killed is issued once", async () => {
  const page = await open();
  await send(page, "refund order A-77");
  const { callId, approve } = await waitingRefund();
  await approve();
  // The refund is issued, and the tool has not answered yet.
  await expect.poll(records).toHaveLength(1);
  await example.service.restart();
  await expect.poll(async () => (await texts(page))[2], { timeout: 40_000 }).toMatch(/Order A-77 is refunded: 49\.00 EUR\.$/);
  expect(attempts()).toEqual([1, 2].map((attempt) => `${callId}, attempt ${attempt}: order A-77 is to be refunded`));
  expect(records()).toMatchObject([{ callId, orderId: "A-77" }]);
});

test("an approval that was given before the service is killed is carried out once", async () => {
  const page = await open();
  await send(page, "refund order A-77");
  const { callId, approve } = await waitingRefund();
  await approve();
  await example.service.restart();
  await expect.poll(async () => (await texts(page))[2], { timeout: 40_000 }).toMatch(/Order A-77 is refunded: 49\.00 EUR\.$/);
  expect(records()).toMatchObject([{ callId, orderId: "A-77" }]);
});

test("the user approves a cancellation on a card, also after a reload, and denies another", async () => {
  const page = await open();
  await send(page, "cancel order A-78");
  const card = page.locator(".call");
  await expect.poll(() => card.locator("code").allInnerTexts()).toEqual(['{"order":"A-78"}']);
  await page.reload();
  expect(records()).toEqual([]);
  await page.getByRole("button", { name: "Approve" }).click();
  await expect.poll(async () => (await texts(page))[1]).toMatch(/^shop\/cancel_order: ok\s+Order A-78 is cancelled/);
  await send(page, "cancel order A-79");
  await page.getByRole("button", { name: "Deny" }).click();
  await expect.poll(async () => (await texts(page))[3]).toMatch(/^shop\/cancel_order: denied/);
  expect(records()).toMatchObject([{ orderId: "A-78" }]);
});

test("an order is found without approval, and that of another user is not", async () => {
  const page = await open();
  await send(page, "order A-77");
  await expect.poll(async () => (await texts(page))[1]).toMatch(/^shop\/find_order: ok\s+Order A-77: a kettle for 49\.00 EUR\.$/);
  await send(page, "order B-12");
  await expect.poll(async () => (await texts(page))[3]).toMatch(/You have no order B-12\.$/);
});

const cart = (page: Page) => page.getByLabel("Cart");
/** Waits until the cart is open and the reply says so, and that a reload does not open it again. */
const expectOpenedOnce = async (page: Page): Promise<void> => {
  await expect.poll(() => texts(page)).toEqual(["show my cart", expect.stringMatching(/^open_cart: ok\s.*a kettle, two cups/s)]);
  expect(await cart(page).isVisible()).toBe(true);
  await page.getByRole("button", { name: "Close" }).click();
  await page.reload();
  await expect.poll(() => texts(page)).toHaveLength(2);
  expect(await cart(page).isVisible()).toBe(false);
};

test("the agent opens the cart of the page once, and a reload does not open it again", async () => {
  const page = await open();
  expect(await cart(page).isVisible()).toBe(false);
  await send(page, "show my cart");
  await expectOpenedOnce(page);
});

test("a page that was closed when the agent called it opens the cart once it is open again", async () => {
  const page = await open();
  const key = new URL(page.url()).hash.slice(1);
  await page.goto("about:blank");
  const { data } = await example.client.agents.list({ name: "Refunds example" });
  const parts = example.client.chat({ agentId: data[0]!.id, message: "show my cart", userId: "grace", conversationKey: key });
  const types: string[] = [];
  for await (const { type } of parts) types.push(type);
  expect(types.at(-1)).toBe("turn.requires_action");
  await page.goto(`${example.url}#${key}`);
  await expectOpenedOnce(page);
});
