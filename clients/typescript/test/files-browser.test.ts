// Uploads from pages of another origin, in Chromium.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startPages, stateOf } from "./pages.js";

const MIB = 2 ** 20;
let pages: Awaited<ReturnType<typeof startPages>>;

beforeAll(async () => {
  pages = await startPages({ LIMITS__SIZES__FILE_BYTES: String(8 * MIB) });
});
afterAll(() => pages?.stop());

const open = async (key: string, url = pages.service.url): Promise<Page> => {
  const agentId = await pages.service.newAgent({ engine: "rules" });
  const token = pages.service.key("chat:write,conversations:read,events:read");
  const page = await pages.open(await pages.newContext(), { url, token, agentId, key });
  // Of a usual connection, so that an upload takes two seconds.
  const session = await page.context().newCDPSession(page);
  await session.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 4 * MIB });
  return page;
};

/** Sends a message with a file of so many bytes, and records the parts that were sent. */
const sendFile = (page: Page, bytes: number): Promise<void> =>
  page.evaluate((size) => {
    const { chat } = window.tab;
    const parts: number[] = [];
    Object.assign(window, { parts });
    chat.subscribe(() => {
      const { progress } = chat.getSnapshot().messages.find(({ role }) => role === "user")?.files[0] ?? {};
      if (progress !== undefined && progress !== parts.at(-1)) parts.push(progress);
    });
    void chat.send("Look", { files: [new File(["a".repeat(size)], "large.txt", { type: "text/plain" })] });
  }, bytes);
const partsOf = (page: Page) => page.evaluate(() => (window as unknown as { parts: number[] }).parts);
const firstOf = async (page: Page) => (await stateOf(page)).messages[0];

test("an upload shows its progress", async () => {
  const page = await open("progress");
  await sendFile(page, 8 * MIB);
  await expect.poll(async () => (await firstOf(page))?.status).toBe("complete");
  const parts = await partsOf(page);
  expect(parts[0]).toBe(0);
  expect(parts.at(-1)).toBe(1);
  expect(parts.toSorted((one, other) => one - other)).toEqual(parts);
  expect(parts.length).toBeGreaterThan(2);
});

test("an upload that is cut is repeated", async () => {
  const page = await open("cut", pages.service.relay.url);
  await sendFile(page, 8 * MIB);
  await expect.poll(async () => (await partsOf(page)).at(-1) ?? 0).toBeGreaterThan(0.2);
  expect((await firstOf(page))?.status).toBe("sending");
  // Browsers themselves repeat what a kept connection has lost.
  const failed = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/api/files"));
  pages.service.relay.refuse();
  await failed;
  pages.service.relay.accept();
  await expect.poll(async () => (await firstOf(page))?.status, { timeout: 30_000 }).toBe("complete");
  // It has begun anew.
  const parts = await partsOf(page);
  expect(parts.findIndex((part, index) => index > 0 && part < parts[index - 1]!)).toBeGreaterThan(0);
  const { files } = (await firstOf(page))!;
  expect(files).toMatchObject([{ name: "large.txt", bytes: 8 * MIB, id: expect.any(String) }]);
});

test("a file that is too large is rejected, and not sent again", async () => {
  const page = await open("large");
  let uploads = 0;
  page.on("request", (request) => (uploads += Number(request.method() === "POST" && request.url().endsWith("/api/files"))));
  await sendFile(page, 12 * MIB);
  await expect.poll(async () => (await stateOf(page)).error?.code).toBe("body_too_large");
  expect(await firstOf(page)).toMatchObject({
    status: "failed",
    files: [{ error: { message: expect.stringContaining("body_too_large") } }],
  });
  expect(uploads).toBe(1);
});
