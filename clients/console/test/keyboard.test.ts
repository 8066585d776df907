// The console without a mouse: menus, dialogs, and where the focus is.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, inspect, see, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

/** The accessible name of the focused element, or its text. */
const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent?.trim());

const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};

it("skips to the content, and begins each page there", async () => {
  const page = await app.open("/agents");
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await page.keyboard.press("Tab");
  expect(await focused(page)).toBe("Skip to the content");
  await page.keyboard.press("Enter");
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
  await page.getByLabel("Sections").getByRole("link", { name: "Health" }).press("Enter");
  await page.getByRole("heading", { name: "Health" }).waitFor();
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
  expect(await page.title()).toBe("Health – Agent Service");
});

it("opens and closes the menu", async () => {
  const page = await app.open("/agents");
  const button = page.getByRole("button", { name: "Account" });
  await button.press("Enter");
  await page.getByRole("menu").waitFor();
  await press(page, "ArrowDown", "Escape");
  await page.getByRole("menu").waitFor({ state: "hidden" });
  await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true);
  await button.press("Enter");
  await page.getByRole("menuitem", { name: "Credential and limits" }).waitFor();
  await inspect(page, "menu");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Credential and limits" }).waitFor();
});

it("keeps the focus in dialogs, and returns it", async () => {
  const page = await app.open("/access");
  const create = page.getByRole("button", { name: "New API key" });
  await create.press("Enter");
  const dialog = page.getByRole("dialog", { name: "New API key" });
  await dialog.waitFor();
  const isInside = () => dialog.evaluate((element) => element.contains(document.activeElement));
  await expect.poll(isInside).toBe(true);
  for (let count = 0; count < 30; count += 1) {
    await page.keyboard.press("Tab");
    // Base UI keeps guards around the dialog, which pass the focus on.
    await expect.poll(isInside).toBe(true);
  }
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await expect.poll(() => create.evaluate((element) => element === document.activeElement)).toBe(true);

  // From the form to the secret, and back to the button.
  await create.press("Enter");
  await page.getByLabel("Name").fill("by keyboard");
  await page.getByLabel("agents:read").press("Space");
  await page.getByLabel("Name").press("Enter");
  await see(page, "shown only once");
  await page.keyboard.press("Escape");
  await see(page, "shown only once");
  await page.getByRole("button", { name: "I have copied it" }).press("Enter");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await expect.poll(() => create.evaluate((element) => element === document.activeElement)).toBe(true);
});

it("chooses, filters and removes in pickers", async () => {
  const page = await app.open("/agents/new");
  await page.getByLabel("Capabilities and tools").focus();
  await page.keyboard.type("calc");
  await page.getByRole("option", { name: /calculator/ }).waitFor();
  await press(page, "ArrowDown", "Enter");
  await page.getByRole("button", { name: "Remove calculator" }).waitFor();
  await press(page, "Escape");
  await page.keyboard.type("loans,");
  await page.getByRole("button", { name: "Remove loans" }).waitFor();
  await press(page, "Backspace");
  await page.getByRole("button", { name: "Remove loans" }).waitFor({ state: "hidden" });
});

it("takes what was typed in a picker with Enter, and does not send the form", async () => {
  const page = await app.open("/agents/new");
  const sent: string[] = [];
  page.on(
    "request",
    (request) => request.method() !== "GET" && new URL(request.url()).pathname === "/api/agents" && sent.push(request.method()),
  );
  /** Types as people do: key by key, and Enter at the end. */
  const type = async (label: string, text: string) => {
    await page.getByLabel(label, { exact: true }).focus();
    await page.keyboard.type(text, { delay: 30 });
    await page.keyboard.press("Enter");
  };
  await type("Capabilities and tools", "calculator");
  await page.getByRole("button", { name: "Remove calculator" }).waitFor();
  await type("Capabilities and tools", "Book search");
  await page.getByRole("button", { name: "Remove Book search" }).waitFor();
  // Nothing is typed, so nothing happens.
  await press(page, "Enter", "Enter");
  await type("Model", "tiny-1");
  await type("Fallbacks", "RUL");
  await page.getByRole("button", { name: "Remove rules" }).waitFor();
  await type("Fallbacks", "nonsense");
  await page.getByRole("heading", { name: "Parameters" }).click();
  await type("Stop texts", "END");
  await page.getByRole("button", { name: "Remove END" }).waitFor();
  expect(sent).toEqual([]);
  // In a text field, Enter sends the form as usual.
  await type("Name", "Typed");
  await page.getByRole("heading", { name: "Typed" }).waitFor();
  const { body } = await app.service.call("GET", `/api/agents/${page.url().split("/").at(-1)}`);
  expect(body).toMatchObject({
    name: "Typed",
    capabilities: ["calculator", "Book search"],
    config: { fallbacks: ["rules"], llm: { model: "tiny-1", stop: ["END"] } },
  });
});

it("chooses origins and agents with Enter", async () => {
  await app.service.newAgent({ engine: "rules" });
  const page = await app.open("/access");
  await page.getByRole("button", { name: "New API key" }).click();
  await page.getByLabel("Browser origins").focus();
  await page.keyboard.type("https://shop.example.org", { delay: 10 });
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Remove https://shop.example.org" }).waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  await press(page, "Escape", "Escape");

  await page.getByLabel("Sections").getByRole("link", { name: "Conversations" }).click();
  await page.getByLabel("Agent", { exact: true }).focus();
  await page.keyboard.type("Ad", { delay: 30 });
  await page.getByRole("option", { name: /Ada/ }).first().waitFor();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.url()).toContain("agentId=");
});

it("keeps a keyword that was typed when the field is left", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const page = await app.open(`/agents/${agent}`);
  await page.getByRole("button", { name: "Add a rule" }).click();
  await page.getByLabel("Matches by").selectOption("keywords");
  const keywords = page.getByRole("combobox", { name: "Keywords", exact: true });
  await keywords.fill("price");
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Remove price" }).waitFor();
  // With the mouse, onto another field or a button that uses the keywords.
  await keywords.fill("cost");
  await page.getByLabel("Reply", { exact: true }).click();
  await page.getByRole("button", { name: "Remove cost" }).waitFor();
  await page.getByLabel("Reply", { exact: true }).fill("It is free.");
  await keywords.fill("fee");
  // While the list is open, assistive technology reads nothing else.
  await page.getByRole("button", { name: "Save", includeHidden: true }).click();
  await see(page, "Version 2.");
  const { body } = await app.service.call("GET", `/api/agents/${agent}`);
  expect(body.config.rules).toMatchObject([{ keywords: ["price", "cost", "fee"], reply: "It is free." }]);
});

it("announces the state of a reply", async () => {
  const agent = await app.service.newAgent();
  const page = await app.open(`/chat/${agent}/spoken`);
  await page.getByLabel("Message", { exact: true }).fill("hold");
  await page.keyboard.press("Enter");
  await page.getByRole("status").filter({ hasText: "The agent is writing." }).waitFor();
  await see(page, "First half,");
  app.service.model.release();
  await see(page, "second half.");
  expect(await page.getByRole("log", { name: "Messages" }).getByRole("article", { name: "Agent" }).count()).toBe(1);
});
