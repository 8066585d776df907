// Agents are saved once, although the service has executed a request whose response is lost.
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

const stored = async (agent: string) => (await app.service.call("GET", `/api/agents/${agent}`)).body;
const personality = (page: Page) => page.getByLabel("Personality");
const save = (page: Page) => page.getByRole("button", { name: "Save" });
const unreachable = (page: Page) => page.getByText("The service cannot be reached.");
const conflict = (page: Page) => page.getByRole("dialog", { name: "Somebody else has changed this agent" });

/** Opens an agent. Without the event log, the page learns of changes from responses alone. */
const openAgent = async (scopes = "agents:read,agents:write") => {
  const agent = await app.service.newAgent();
  const page = await app.open(`/agents/${agent}`, app.service.key(scopes));
  await see(page, "Version 1.");
  return { agent, page };
};

/** Loses the responses to all changes at a path, or to the first `count`. Returns a function that ends this. */
const loseResponses = async (page: Page, path: string, count = Number.POSITIVE_INFINITY) => {
  let lost = 0;
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() === "GET" || lost >= count) return route.continue();
    lost += 1;
    await route.fetch();
    return route.abort();
  });
  return async () => {
    expect(lost).toBeGreaterThan(0);
    await page.unroute(`**${path}`);
  };
};

it("saves once if only the first response is lost", async () => {
  const { agent, page } = await openAgent();
  await personality(page).fill("Patient");
  await loseResponses(page, "/config", 1);
  await save(page).click();
  await see(page, "Version 2.");
  expect(await conflict(page).count()).toBe(0);
  expect(await stored(agent)).toMatchObject({ personality: "Patient", version: 2 });
});

it("reports a change as saved if it is saved again", async () => {
  const { agent, page } = await openAgent();
  await personality(page).fill("Patient");
  const end = await loseResponses(page, "/config");
  await save(page).click();
  await unreachable(page).waitFor({ timeout: 20_000 });
  await inspect(page, "agent-outage");
  await end();
  await save(page).click();
  await page.getByText("Saved.", { exact: true }).waitFor();
  await see(page, "Version 2.");
  expect(await conflict(page).count()).toBe(0);
  expect(await unreachable(page).count()).toBe(0);
  expect(await stored(agent)).toMatchObject({ personality: "Patient", version: 2 });
});

it("saves what was typed since without a conflict", async () => {
  const { agent, page } = await openAgent();
  await personality(page).fill("Patient");
  const end = await loseResponses(page, "/config");
  await save(page).click();
  await unreachable(page).waitFor({ timeout: 20_000 });
  await end();
  await personality(page).fill("Patient and kind");
  await save(page).click();
  await see(page, "Version 3.");
  expect(await stored(agent)).toMatchObject({ personality: "Patient and kind", version: 3 });
});

it("learns from the event log that a change was saved", async () => {
  const { agent, page } = await openAgent("agents:read,agents:write,events:read");
  await personality(page).fill("Patient");
  await loseResponses(page, "/config");
  await save(page).click();
  await see(page, "Version 2.");
  expect(await page.getByText(/Somebody else/).count()).toBe(0);
  expect(await stored(agent)).toMatchObject({ personality: "Patient", version: 2 });
});

it("shows the change of somebody else as a conflict, also after a lost response", async () => {
  const { agent, page } = await openAgent();
  await personality(page).fill("Mine");
  const end = await loseResponses(page, "/config");
  await save(page).click();
  await unreachable(page).waitFor({ timeout: 20_000 });
  await end();
  await app.service.call("PATCH", `/api/agents/${agent}`, { personality: "Theirs" });
  await save(page).click();
  await conflict(page).waitFor();
  expect(await stored(agent)).toMatchObject({ personality: "Theirs", version: 3 });
});

it("creates an agent once, with what was typed since", async () => {
  for (const [name, since] of [
    ["Same again", ""],
    ["Changed since", "Patient"],
  ] as const) {
    const page = await app.open("/agents/new");
    await page.getByLabel("Name", { exact: true }).first().fill(name);
    const end = await loseResponses(page, "/api/agents");
    const create = page.getByRole("button", { name: "Create the agent" });
    await create.click();
    await unreachable(page).waitFor({ timeout: 20_000 });
    await end();
    await personality(page).fill(since);
    await create.click();
    await page.getByRole("heading", { name }).waitFor();
    const { body } = await app.service.call("GET", `/api/agents?name=${name.replace(" ", "+")}`);
    expect(body.data).toMatchObject([{ name, personality: since }]);
  }
});

it("creates an agent that was corrected since its first request was lost", async () => {
  const page = await app.open("/agents/new");
  const name = page.getByLabel("Name", { exact: true }).first();
  await name.fill("Too long ".repeat(20));
  await page.route("**/api/agents", (route) => route.abort());
  const create = page.getByRole("button", { name: "Create the agent" });
  await create.click();
  await unreachable(page).waitFor({ timeout: 20_000 });
  await page.unroute("**/api/agents");
  await name.fill("Short enough");
  await create.click();
  await page.getByRole("heading", { name: "Short enough" }).waitFor();
});
