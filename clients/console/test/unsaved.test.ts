// Text that a user has written is not lost.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, see, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

/** Delays the requests of a page to a path until `release` is called; `received` resolves at the first one. */
const delay = async (page: Page, path: string) => {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const received = page.waitForRequest((request) => request.method() !== "GET" && request.url().endsWith(path));
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() !== "GET") await released;
    await route.continue();
  });
  return { received, release: () => release() };
};

it("keeps text that is typed while an agent is saved", async () => {
  const agent = await app.service.newAgent();
  const stored = async () => (await app.service.call("GET", `/api/agents/${agent}`)).body;
  const page = await app.open(`/agents/${agent}`);
  const personality = page.getByLabel("Personality");
  await personality.fill("First");
  const { received, release } = await delay(page, "/config");
  await page.getByRole("button", { name: "Save" }).click();
  await received;
  await personality.pressSequentially(" and second");
  release();
  await page.getByText("Saved.", { exact: true }).waitFor();
  expect(await personality.inputValue()).toBe("First and second");
  expect(await stored()).toMatchObject({ personality: "First", version: 2 });
  // It is still unsaved, and can be saved without a conflict.
  await see(page, "Not saved yet.");
  await page.getByLabel("Sections").getByRole("link", { name: "Health" }).click();
  await see(page, "Leave without saving?");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Version 3.");
  expect(await stored()).toMatchObject({ personality: "First and second", version: 3 });
});

it("keeps text that is typed while an agent is created", async () => {
  const page = await app.open("/agents/new");
  await page.getByLabel("Name", { exact: true }).first().fill("Typed meanwhile");
  const { received, release } = await delay(page, "/api/agents");
  await page.getByRole("button", { name: "Create the agent" }).click();
  await received;
  await page.getByLabel("Personality").fill("Patient");
  release();
  await page.getByRole("heading", { name: "Typed meanwhile" }).waitFor();
  expect(await page.getByLabel("Personality").inputValue()).toBe("Patient");
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForURL(/agents\/[0-9a-f-]{36}$/);
  await see(page, "Version 2.");
  const { body } = await app.service.call("GET", "/api/agents?name=typed+mean");
  expect(body.data).toMatchObject([{ personality: "Patient", version: 2 }]);
});

it("asks before Back and Forward lose changes", async () => {
  await app.service.newAgent();
  const page = await app.open("/health");
  const go = (name: string) => page.getByLabel("Sections").getByRole("link", { name, exact: true }).click();
  const question = page.getByRole("alertdialog", { name: "Leave without saving?" });
  const isAt = (path: string) => expect.poll(() => page.url()).toBe(`${app.service.url}/console${path}`);
  await go("Agents");
  await page.getByRole("link", { name: "Ada" }).first().click();
  await page.waitForURL(/agents\/[0-9a-f-]{36}$/);
  const editor = new URL(page.url()).pathname.replace("/console", "");
  await go("Access");
  await page.goBack();
  await page.getByLabel("Personality").fill("An hour of writing");
  for (const move of ["goBack", "goForward"] as const) {
    await page[move]();
    await question.waitFor();
    await isAt(editor);
    await page.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "hidden" });
    expect(await page.getByLabel("Personality").inputValue()).toBe("An hour of writing");
  }
  // Several entries at once, and the other entries remain.
  await page.evaluate(() => history.go(-2));
  await question.waitFor();
  await isAt(editor);
  await page.getByRole("button", { name: "Discard the changes" }).click();
  await page.getByRole("heading", { name: "Health" }).waitFor();
  await isAt("/health");
  await page.goForward();
  await page.goForward();
  await isAt(editor);
  expect(await page.getByLabel("Personality").inputValue()).not.toBe("An hour of writing");
  await page.getByLabel("Personality").fill("Another hour");
  await page.goForward();
  await page.getByRole("button", { name: "Discard the changes" }).click();
  await page.getByRole("heading", { name: "Access" }).waitFor();
  await isAt("/access");
});

it("asks before Back loses changes after a reload, too", async () => {
  await app.service.newAgent();
  const page = await app.open("/agents", app.key, true);
  await page.getByRole("link", { name: "Ada" }).first().click();
  await page.waitForURL(/agents\/[0-9a-f-]{36}$/);
  await page.reload();
  await page.getByLabel("Personality").fill("Not saved");
  await page.goBack();
  await see(page, "Leave without saving?");
  expect(await page.getByLabel("Personality").inputValue()).toBe("Not saved");
});

it("asks before signing out loses changes", async () => {
  const agent = await app.service.newAgent();
  const page = await app.open(`/agents/${agent}`);
  const question = page.getByRole("alertdialog", { name: "Leave without saving?" });
  const signOut = async () => {
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
  };
  await page.getByLabel("Personality").fill("An hour of writing");
  await signOut();
  await question.waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "hidden" });
  expect(await page.getByLabel("Personality").inputValue()).toBe("An hour of writing");
  await signOut();
  await page.getByRole("button", { name: "Discard the changes" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  // Without changes, there is no question.
  await page.getByLabel("API key or access token").fill(app.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await see(page, "Version 1.");
  await signOut();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});
