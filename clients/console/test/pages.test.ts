// The pages that the service writes itself: the start page and the problems.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, inspect, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  // The policy of the pages was not violated.
  expect(app.faults).toEqual([]);
  await app.stop();
});

const open = async (path: string) => {
  const page = await app.open("", "");
  await page.goto(app.service.url + path);
  return page;
};

it("shows the start page in the colours of the console", async () => {
  const page = await open("/");
  await inspect(page, "start");
  const accent = () => page.getByRole("link", { name: "Console" }).evaluate((link) => getComputedStyle(link).color);
  const light = await accent();
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await accent()).not.toBe(light);
  await page.getByRole("link", { name: "Console" }).click();
  await page.getByLabel("API key or access token").waitFor();
});

it("shows what each problem means, without scripts", async () => {
  const page = await open("/problems");
  await inspect(page, "problems");
  expect(await page.locator("script").count()).toBe(0);
  await page.getByRole("link", { name: "token_expired" }).click();
  await page.getByRole("heading", { name: "The token has expired." }).waitFor();
  await inspect(page, "problem");
  await page.getByRole("link", { name: "All problems" }).click();
  await page.getByRole("heading", { name: "Problems", exact: true }).waitFor();
  await page.getByRole("link", { name: "Agent Service" }).click();
  await page.getByRole("link", { name: "Console" }).waitFor();
});
