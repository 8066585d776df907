// A page without TLS at another address than loopback: browsers offer it no `crypto.randomUUID`, no
// `crypto.subtle` and no locks.
import type { Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { messagesOf, send, startPages } from "./pages.js";

/** The address of the page and of the service, both of which the browser reaches through its test. */
const ADDRESS = "http://agents.test";

let pages: Awaited<ReturnType<typeof startPages>>;

beforeAll(async () => {
  pages = await startPages();
});
afterAll(() => pages?.stop());

test("a page without TLS sends messages once, and keeps them over a reload", async () => {
  const { service, origin } = pages;
  const context = await pages.newContext();
  let isLost = true;
  await context.route(`${ADDRESS}/**`, (route: Route) => {
    const { pathname, search } = new URL(route.request().url());
    if (!pathname.startsWith("/api/")) return route.continue({ url: origin + pathname });
    return pathname === "/api/chat" && isLost ? route.abort() : route.continue({ url: service.url + pathname + search });
  });
  const agentId = await service.newAgent();
  const settings = {
    url: ADDRESS,
    token: service.key("chat:write,conversations:read,events:read"),
    agentId,
    key: "insecure",
    followsEvents: true,
  };
  const page = await pages.open(context, settings, undefined, ADDRESS);
  expect(await page.evaluate(() => [isSecureContext, "randomUUID" in crypto, "subtle" in crypto])).toEqual([false, false, false]);
  await send(page, "Hello");
  await expect.poll(() => messagesOf(page)).toEqual(["sending Hello"]);
  isLost = false;
  await page.reload();
  await page.evaluate((given) => window.start(given), settings);
  await expect.poll(() => messagesOf(page)).toEqual(["complete Hello", "complete You said: Hello"]);
  await expect.poll(() => service.turns(agentId, "insecure")).toEqual(["completed"]);
  await context.close();
});
