// A page of an origin that the service does not allow: its browser hides every response from it.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Settings } from "./pages/tab.js";
import { startPages } from "./pages.js";

let pages: Awaited<ReturnType<typeof startPages>>;

beforeAll(async () => {
  pages = await startPages();
});
afterAll(() => pages?.stop());

test("a page of an origin that is not allowed is told so, and so is the operator", async () => {
  const { service, origin } = pages;
  const other = origin.replace("127.0.0.1", "localhost");
  const settings = { url: service.url, token: service.admin, agentId: await service.newAgent(), key: "origins" } satisfies Settings;
  const context = await pages.newContext();
  const page = await context.newPage();
  await page.goto(other);
  const errorOf = () =>
    page.evaluate(
      (given: Settings) =>
        window.start(given).then(
          () => undefined,
          ({ code, title, detail }) => ({ code, title, detail }),
        ),
      settings,
    );
  const unreachable = { code: "offline", title: "The service cannot be reached." };
  const detail = `${service.url} cannot be reached`;
  const reason = " (TypeError: Failed to fetch)";
  const hint = `, or does not allow ${other} in SERVER__ALLOWED_ORIGINS`;
  expect(await errorOf()).toEqual({ ...unreachable, detail: detail + hint + reason });
  expect(await errorOf()).toEqual({ ...unreachable, detail: detail + hint + reason });
  await context.setOffline(true);
  expect(await errorOf()).toEqual({ ...unreachable, title: "You are offline.", detail: detail + reason });
  await context.setOffline(false);
  await page.goto(origin);
  expect(await errorOf()).toBeUndefined();
  // Requests without a page, and of allowed ones, are not reported.
  const warnings = service.log.filter((line) => line.includes("SERVER__ALLOWED_ORIGINS"));
  expect(warnings).toEqual([expect.stringContaining(other)]);
  await context.close();
});
