// Browsers and addresses for which interfaces of the browser are missing.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, PLAIN_HOST, see, signIn, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

it("works without TLS on a host other than this one", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const page = await app.open(`/agents/${agent}`, app.key, false, PLAIN_HOST);
  await page.getByRole("heading", { name: "Ada" }).waitFor();
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  await page.getByLabel("Personality").fill("Patient");
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Version 2.");
  await page.getByRole("link", { name: "Chat", exact: true }).last().click();
  await page.getByLabel("Message", { exact: true }).fill("Good morning");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByRole("log").locator(".bubble").count()).toBe(2);
  await page.getByLabel("Sections").getByRole("link", { name: "Chat" }).click();
  await page.getByRole("button", { name: /Ada/ }).first().click();
  await see(page, "Write the first message.");
  await page.getByLabel("Sections").getByRole("link", { name: "Agents" }).click();
  await page.getByRole("link", { name: "New agent" }).click();
  await page.getByLabel("Name", { exact: true }).first().fill("Without TLS");
  await page.getByRole("button", { name: "Create the agent" }).click();
  await page.getByRole("heading", { name: "Without TLS" }).waitFor();
  await page.getByLabel("Sections").getByRole("link", { name: "Access" }).click();
  await page.getByRole("button", { name: "New API key" }).click();
  await page.getByLabel("Name").fill("without TLS");
  await page.getByLabel("agents:read").check();
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await see(page, "shown only once");
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("button", { name: "Rotate without TLS" }).click();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  await see(page, "shown only once");
});

it("works without the storage of the browser", async () => {
  const agent = await app.service.newAgent();
  const page = await app.open("", "");
  await page.addInitScript(() => {
    for (const name of ["sessionStorage", "localStorage"]) {
      Object.defineProperty(window, name, {
        get() {
          throw new DOMException("denied", "SecurityError");
        },
      });
    }
  });
  await page.goto(`${app.service.url}/console/agents/${agent}`);
  await signIn(page, app.key, true);
  await page.getByRole("heading", { name: "Ada" }).waitFor();
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByLabel("API key or access token").waitFor();
});
