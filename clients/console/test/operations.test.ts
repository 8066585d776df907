import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SCOPES } from "../src/session/scopes.js";
import { type Console, clipboardOf, inspect, see, signIn, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

it("follows the event log, filters it, and copies requests", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const page = await app.open("/activity");
  const events = page.getByRole("list", { name: "Events" }).getByRole("listitem");
  await events.getByText("agent.created").first().waitFor();
  const before = await events.count();
  await app.service.call("POST", "/api/chat", { agentId: agent, message: "Hello" });
  await events.getByText("turn.completed").first().waitFor();
  expect(await events.count()).toBeGreaterThan(before);
  // With the names of the agent and of the key.
  await events.getByText("Ada by test").first().waitFor();
  await inspect(page, "activity-all");
  await page.getByLabel("Type").selectOption("agent");
  await expect.poll(() => events.count()).toBe(1);
  await events.first().locator("summary").click();
  await inspect(page, "activity");
  expect(await events.first().locator("time").innerText()).toMatch(/^\d\d:\d\d:\d\d[.,]\d{3}$/);
  await events.first().getByRole("button", { name: "Copy as curl" }).click();
  const command = await clipboardOf(page);
  expect(command).toMatch(/^curl -sS -H "X-API-Key: \$KEY" 'http:\/\/127\.0\.0\.1:\d+\/api\/events\?since=\d+&limit=1'$/);
  expect(command).not.toContain(app.key);
  const url = command.split("'")[1] ?? "";
  const repeated = (await (await fetch(url, { headers: { "X-API-Key": app.key } })).json()) as { data: { type: string }[] };
  expect(repeated.data.map(({ type }) => type)).toEqual(["agent.created"]);
  await page.getByRole("button", { name: "Pause" }).click();
  await app.service.newAgent();
  await page.waitForTimeout(300);
  expect(await events.count()).toBe(1);
  await page.getByRole("button", { name: "Continue" }).click();
  await expect.poll(() => events.count()).toBe(2);
});

it("creates, rotates and revokes keys", async () => {
  const page = await app.open("/access");
  await see(page, "signed in with it");
  await page.getByRole("button", { name: "New API key" }).click();
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await see(page, "2 fields need attention.");
  await page.getByLabel("Name").fill("web shop");
  await see(page, "One field needs attention.");
  await see(page, "Choose at least one scope.");
  await inspect(page, "key-create");
  // A fault is gone once its field has changed.
  await page.getByLabel("agents:read").check();
  expect(await page.getByText(/attention|Choose at least/).count()).toBe(0);
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await see(page, "shown only once");
  await inspect(page, "key-secret");
  await page.getByRole("button", { name: "Copy the secret" }).click();
  const secret = await clipboardOf(page);
  const status = async (credential: string) =>
    (await fetch(`${app.service.url}/api/agents`, { headers: { "X-API-Key": credential } })).status;
  expect(await status(secret)).toBe(200);
  await page.getByRole("button", { name: "I have copied it" }).click();
  await inspect(page, "keys");
  await page.getByRole("button", { name: "Copy the id of the API key web shop" }).click();
  await expect.poll(() => clipboardOf(page)).toBe(secret.split("_")[1]);
  await page.getByRole("button", { name: "Rotate web shop" }).click();
  await page.getByLabel("The old secret stays valid for").selectOption("End at once");
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  await page.getByRole("button", { name: "Copy the secret" }).click();
  const rotated = await clipboardOf(page);
  expect([await status(secret), await status(rotated)]).toEqual([401, 200]);
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("button", { name: "Revoke web shop" }).click();
  await page.getByRole("button", { name: "Revoke the API key" }).click();
  await see(page, "“web shop” was revoked.");
  expect(await status(rotated)).toBe(401);
});

it("selects scopes for the usual purposes, as far as the user has them", async () => {
  const scopes = [
    "user-tokens:issue",
    "agents:read",
    "chat:write",
    "conversations:read",
    "conversations:write",
    "events:read",
    "keys:admin",
  ];
  const page = await app.open("/access", app.service.key(scopes.join()));
  await page.getByRole("button", { name: "New API key" }).click();
  const chosen = () =>
    page
      .getByRole("checkbox", { checked: true })
      .evaluateAll((all) => all.map((it) => it.parentElement?.querySelector(".mono")?.textContent).sort());
  const isPressed = (name: string) => page.getByRole("button", { name, pressed: true }).waitFor();
  await page.getByRole("button", { name: "Page backend" }).click();
  await isPressed("Page backend");
  expect(await chosen()).toEqual(scopes.filter((scope) => scope !== "keys:admin").sort());
  await page.getByRole("button", { name: "Read only" }).click();
  await see(page, "Without metrics:read, which you do not have yourself.");
  expect(await chosen()).toEqual(["agents:read", "conversations:read", "events:read"]);
  await page.getByRole("button", { name: "Everything" }).click();
  expect(await chosen()).toEqual([...scopes].sort());
  await inspect(page, "key-presets");
  // One scope less is no longer everything.
  await page.getByLabel("keys:admin").uncheck();
  await isPressed("Page backend");
  await page.getByLabel("Name").fill("pages");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("button", { name: "I have copied it" }).click();
  const { body } = await app.service.call("GET", "/api/keys", undefined, { authorization: `Bearer ${app.key}` });
  const made = body.data.find(({ name }: { name: string }) => name === "pages");
  expect(made.scopes.sort()).toEqual(scopes.filter((scope) => scope !== "keys:admin").sort());
});

it("explains each scope as the documentation does", () => {
  const documented = readFileSync(new URL("../../../docs/access.md", import.meta.url), "utf8").matchAll(
    /^\| `([a-z-]+:[a-z]+)` \| (.+\.) \|$/gm,
  );
  expect(SCOPES).toEqual(Object.fromEntries([...documented].map(([, scope, sentence]) => [scope, sentence])));
});

it("creates OAuth clients", async () => {
  const page = await app.open("/access");
  await page.getByRole("tab", { name: "OAuth clients" }).click();
  await see(page, "No OAuth clients yet");
  await page.getByRole("button", { name: "New OAuth client" }).click();
  await page.getByLabel("Name").fill("backend");
  await page.getByLabel("chat:write").check();
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByLabel("Secret", { exact: true }).waitFor();
  await inspect(page, "client-secret");
  const [id, secret] = [
    await page.getByLabel("Client id", { exact: true }).inputValue(),
    await page.getByLabel("Secret", { exact: true }).inputValue(),
  ];
  const headers = { authorization: `Basic ${btoa(`${id}:${secret}`)}`, "content-type": "application/x-www-form-urlencoded" };
  const response = await fetch(`${app.service.url}/oauth2/token`, { method: "POST", headers, body: "grant_type=client_credentials" });
  const { access_token } = (await response.json()) as { access_token: string };
  await page.getByRole("button", { name: "I have copied it" }).click();
  await see(page, "backend");
  await inspect(page, "clients");
  // A token signs in, too, and sees only what its scopes allow.
  const limited = await app.open("/health", access_token);
  await see(limited, "metrics:read");
  await limited.getByLabel("Sections").getByRole("link", { name: "Access" }).click();
  await see(limited, "Your credential may not see this");
  await inspect(limited, "missing-scope");
});

it("signs out once the credential is revoked", async () => {
  const key = app.service.key("agents:read,events:read");
  const page = await app.open("", key);
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  const headers = { "X-API-Key": app.key };
  const revoked = await fetch(`${app.service.url}/api/keys/${key.split("_")[1]}`, { method: "DELETE", headers });
  expect(revoked.status).toBe(204);
  await see(page, "The service no longer accepts your credential.");
  await signIn(page, app.key);
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
});
