// Staying signed in over a reload.
import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, inspect, see, signIn, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

const agents = (page: Page) => page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
const question = (page: Page) => page.getByLabel("API key or access token").waitFor();

it("stays signed in in this tab alone, if the user has chosen it", async () => {
  const page = await app.open("/agents", app.key, true);
  await agents(page);
  await page.reload();
  await agents(page);
  // Another tab asks, and knows the choice but not the credential.
  const other = await page.context().newPage();
  await other.goto(page.url());
  await question(other);
  expect(await other.getByLabel("Stay signed in in this tab").isChecked()).toBe(true);
  expect(await other.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(app.key);
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await question(page);
  await page.reload();
  await question(page);
});

it("lets the user choose it later, and take it back", async () => {
  const page = await app.open("/agents");
  await agents(page);
  const choose = async () => {
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Stay signed in in this tab" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("menu").waitFor({ state: "hidden" });
    await page.reload();
  };
  await choose();
  await agents(page);
  await choose();
  await question(page);
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
});

const unavailable = {
  code: "store_unavailable",
  status: 503,
  title: "The store cannot be reached.",
  detail: "Wait.",
  type: "",
  retryable: true,
};

it.each<[string, (route: Route) => Promise<void>]>([
  ["The service cannot be reached.", (route) => route.abort()],
  [unavailable.title, (route) => route.fulfill({ status: 503, contentType: "application/problem+json", json: unavailable })],
])("stays signed in if the page is loaded during an outage: %s", async (title, answer) => {
  const page = await app.open("/agents", app.key, true);
  await agents(page);
  await page.route("**/api/**", answer);
  await page.reload();
  await see(page, title);
  await inspect(page, "restoring");
  await page.unroute("**/api/**");
  await agents(page);
});

it("asks again if the stored credential was revoked meanwhile", async () => {
  const key = app.service.key("agents:read");
  const page = await app.open("/agents", key, true);
  await agents(page);
  await fetch(`${app.service.url}/api/keys/${key.split("_")[1]}`, { method: "DELETE", headers: { "X-API-Key": app.key } });
  await page.reload();
  await question(page);
  await signIn(page, app.key, true);
  await agents(page);
});
