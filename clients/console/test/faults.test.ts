// What happens when something goes wrong in the middle of the work.
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

const revoke = async (key: string) => {
  const { status } = await fetch(`${app.service.url}/api/keys/${key.split("_")[1]}`, {
    method: "DELETE",
    headers: { "X-API-Key": app.key },
  });
  expect(status).toBe(204);
};

it("keeps what was written when the credential is rejected", async () => {
  const agent = await app.service.newAgent();
  // Without the event log, the page learns it only when it saves.
  const key = app.service.key("agents:read,agents:write");
  const page = await app.open(`/agents/${agent}`, key);
  await page.getByLabel("Personality").fill("Half a sentence");
  await revoke(key);
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "The service no longer accepts your credential.");
  await inspect(page, "sign-in-again");
  // Nothing of the page is in sight meanwhile.
  expect(await page.getByLabel("Personality").isVisible()).toBe(false);
  await signIn(page, app.key);
  expect(await page.getByLabel("Personality").inputValue()).toBe("Half a sentence");
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Version 2.");
});

it("recovers by itself once the service is back", async () => {
  const page = await app.open("/agents");
  await page.getByRole("list", { name: "Agents" }).waitFor();
  app.service.signal("SIGSTOP");
  app.service.signal("SIGKILL");
  await page.getByLabel("Sections").getByRole("link", { name: "Conversations" }).click();
  await page.getByText("The service cannot be reached.").waitFor({ timeout: 20_000 });
  await inspect(page, "unreachable");
  await app.service.restart();
  await page.getByText("The service cannot be reached.").waitFor({ state: "hidden", timeout: 20_000 });
  await see(page, "No conversations yet");
  // The event log is followed again, too.
  await page.getByLabel("Sections").getByRole("link", { name: "Agents" }).click();
  await page.getByRole("list", { name: "Agents" }).waitFor();
  await app.service.call("POST", "/api/agents", { name: "After the restart" });
  await page.getByText("After the restart").waitFor({ timeout: 20_000 });
});

it("follows the event log even if its code could not be loaded at first", async () => {
  await app.service.newAgent();
  const page = await app.open("/agents", "");
  let failed = 0;
  await page.route("**/assets/feed-*.js", (route) => {
    if (failed === 3) return route.continue();
    failed += 1;
    return route.abort();
  });
  await signIn(page, app.key);
  await page.getByRole("list", { name: "Agents" }).waitFor();
  await expect.poll(() => failed, { timeout: 20_000 }).toBe(3);
  await app.service.call("POST", "/api/agents", { name: "After the code was loaded" });
  await see(page, "After the code was loaded");
});

it("shows a change that was made before the event log could be read", async () => {
  await app.service.newAgent();
  const page = await app.open("/agents", "");
  // The position at which the session begins is known.
  await page.route("**/api/events?*", (route) => (route.request().url().endsWith("?limit=1") ? route.continue() : route.abort()));
  await signIn(page, app.key);
  await page.getByRole("list", { name: "Agents" }).waitFor();
  await app.service.call("POST", "/api/agents", { name: "Before the log" });
  await page.unroute("**/api/events?*");
  await page.getByText("Before the log").waitFor();
});

it("sends a message that an outage has kept once the service is back", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const page = await app.open(`/chat/${agent}/outage`);
  await see(page, "Write the first message.");
  app.service.signal("SIGKILL");
  await page.getByLabel("Message", { exact: true }).fill("Good morning");
  await page.keyboard.press("Enter");
  await see(page, "Sending…");
  await page.getByText("Not sent yet").waitFor({ timeout: 20_000 });
  await see(page, "The service cannot be reached.");
  await inspect(page, "chat-outage");
  await app.service.restart();
  await page.getByText("Not sent yet").waitFor({ state: "hidden", timeout: 20_000 });
  await page.getByRole("article", { name: "Agent" }).waitFor({ timeout: 20_000 });
  await page.getByText("The service cannot be reached.").waitFor({ state: "hidden" });
  expect(await app.service.turns(agent, "outage")).toEqual(["completed"]);
});

it("keeps a rule over a restart, and shows no result of earlier rules meanwhile", async () => {
  const agent = await app.service.newAgent({ engine: "rules", rules: [{ pattern: "open", reply: "From 9 to 18." }] });
  const page = await app.open(`/agents/${agent}`);
  await page.getByLabel("Try a message").fill("open");
  await see(page, "By a rule.");
  app.service.signal("SIGKILL");
  await page.locator(".rule summary").click();
  await page.getByRole("textbox", { name: "Pattern" }).fill("closed");
  await page.getByText("The service cannot be reached.").waitFor({ timeout: 20_000 });
  expect(await page.getByText("By a rule.").count()).toBe(0);
  await app.service.restart();
  await page.getByText("By small talk.").or(page.getByText("By the default reply.")).waitFor({ timeout: 20_000 });
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Version 2.");
});

it("tries only the page again that was rejected", async () => {
  for (let number = 1; number <= 25; number += 1) await app.service.call("POST", "/api/agents", { name: `Paged ${number}` });
  const page = await app.open("/agents?name=paged");
  const listed = page.getByRole("list", { name: "Agents" }).getByRole("listitem");
  await expect.poll(() => listed.count()).toBe(20);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  const problem = { code: "rate_limited", status: 429, title: "Too many requests.", detail: "Wait.", type: "", retryable: true };
  await page.route(/cursor=/, (route) => {
    // The client itself repeats a request three times.
    const isRejected = requests.filter((url) => url.includes("cursor=")).length <= 4;
    return isRejected ? route.fulfill({ status: 429, contentType: "application/problem+json", json: problem }) : route.continue();
  });
  await page.getByRole("button", { name: "Load more" }).click();
  await see(page, "Too many requests.");
  expect(await listed.count()).toBe(20);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect.poll(() => listed.count()).toBe(25);
  await page.getByText("Too many requests.").waitFor({ state: "hidden" });
  expect(requests.filter((url) => /api\/agents/.test(url) && !url.includes("cursor="))).toEqual([]);
});

it("says which scope is missing, on each page", async () => {
  const page = await app.open("", app.service.key("agents:read"));
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  expect(await page.getByRole("link", { name: "New agent" }).count()).toBe(0);
  for (const [name, scope] of [
    ["Chat", "chat:write"],
    ["Conversations", "conversations:read"],
    ["Activity", "events:read"],
    ["Access", "keys:admin"],
  ] as const) {
    await page.getByLabel("Sections").getByRole("link", { name, exact: true }).click();
    await page.getByText(scope).waitFor();
  }
  const agent = await app.service.newAgent();
  await page.goto(`${app.service.url}/console/agents/${agent}`);
  await signIn(page, app.service.key("agents:read"));
  await see(page, "Your credential may not change agents.");
  expect(await page.getByLabel("Personality").isDisabled()).toBe(true);
});

it("asks before changes are lost, and reports those of others", async () => {
  const agent = await app.service.newAgent();
  const page = await app.open(`/agents/${agent}`);
  await page.getByLabel("Greeting").fill("Welcome!");
  await page.getByLabel("Sections").getByRole("link", { name: "Health" }).click();
  await see(page, "Leave without saving?");
  await inspect(page, "unsaved");
  await page.getByRole("button", { name: "Cancel" }).click();
  await app.service.call("PATCH", `/api/agents/${agent}`, { personality: "Theirs" });
  await see(page, "Somebody else has saved version 2 meanwhile.");
  await page.getByRole("button", { name: "Discard changes" }).click();
  await see(page, "Theirs");
  await page.getByLabel("Sections").getByRole("link", { name: "Health" }).click();
  await page.getByRole("heading", { name: "Health" }).waitFor();
});

it("stays usable over a slow network, and creates once", async () => {
  const page = await app.open("/agents/new");
  await page.route("**/api/agents", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 800));
    await route.continue();
  });
  await page.getByLabel("Name", { exact: true }).first().fill("Slow and once");
  const create = page.getByRole("button", { name: "Create the agent" });
  await create.dblclick();
  expect(await create.isDisabled()).toBe(true);
  await page.getByRole("heading", { name: "Slow and once" }).waitFor();
  expect((await app.service.call("GET", "/api/agents?name=slow+and")).body.data.length).toBe(1);
});

it("shows an agent that does not exist, and other wrong addresses", async () => {
  const page = await app.open("/agents/01a20bc3-8779-7386-a086-e58bccaebd37");
  await see(page, "agent_not_found");
  await inspect(page, "not-found");
  await page.goto(`${app.service.url}/console/nothing`);
  await signIn(page, app.key);
  await see(page, "This page does not exist");
});

it("reads each part of an address once", async () => {
  const agent = await app.service.newAgent();
  for (const [segment, key] of [
    ["%25", "%"],
    ["a%252Fb", "a%2Fb"],
    ["a%2Fb", "a/b"],
    ["%zz", "%zz"],
    ["%E0%A4%A", "%E0%A4%A"],
  ] as const) {
    const keys: (string | null)[] = [];
    const page = await app.open(`/chat/${agent}/${segment}?user=${encodeURIComponent(key)}`, "");
    page.on("request", (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === "/api/conversations") keys.push(searchParams.get("key"), searchParams.get("userId"));
    });
    await signIn(page, app.key);
    await page.getByRole("heading", { name: "Chat with Ada" }).waitFor();
    await expect.poll(() => keys.slice(0, 2)).toEqual([key, key]);
    await page.close();
  }
  const page = await app.open("/agents/%25");
  await see(page, "agent_not_found");
});
