// The calls that wait for staff: the list, decisions, and what they begin.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, inspect, SCOPES, see, signIn, startConsole } from "./console.js";

let app: Console;
let staff: string;

beforeAll(async () => {
  app = await startConsole();
  staff = app.service.key(`${SCOPES},tools:approve`);
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

const RULES = [
  {
    pattern: "what is ([^?]+)",
    call: { tool: "calculator", arguments: { expression: "{{capture.1}}" } },
    reply: "Result: {{result}}",
  },
];
const BY_STAFF = { engine: "rules", tools: [{ name: "calculator", approval: "always", approver: "staff" }], rules: RULES };

/** Sends a message whose call waits for staff. Returns its turn and conversation. */
const ask = async (agentId: string, expression: string, more = {}): Promise<{ turnId: string; conversationId: string }> => {
  const chat = { agentId, message: `What is ${expression}?`, userId: "ada", ...more };
  return (await app.service.call("POST", "/api/chat", chat)).body;
};

/** Decides as another member of staff. */
const decide = (turnId: string, decision: string, reason?: string) =>
  app.service.call(
    "POST",
    `/api/turns/${turnId}/actions`,
    { actions: [{ callId: `${turnId}-1`, decision, reason }] },
    { authorization: `Bearer ${staff}` },
  );

const menuEntry = (page: Page, name: string | RegExp) => page.getByLabel("Sections").getByRole("link", { name, exact: true });
const rowOf = (page: Page, expression: string) => page.getByRole("group", { name: `What is ${expression}?` });

it("lists what waits, and approves it with the keyboard", async () => {
  const agent = await app.service.newAgent(BY_STAFF);
  const { conversationId } = await ask(agent, "4 * 5");
  const page = await app.open("/agents", staff);
  await menuEntry(page, "Approvals 1 waiting").click();
  const row = rowOf(page, "4 * 5");
  await row.getByText('"expression": "4 * 5"').waitFor();
  await row.getByText("user ada").waitFor();
  await row.getByRole("link", { name: "Ada" }).waitFor();
  await row.getByText("Waits for approval by staff", { exact: true }).waitFor();
  await row.getByText("expires in 7 days", { exact: true }).waitFor();
  await inspect(page, "approvals");
  await row.getByRole("button", { name: "Approve" }).press("Enter");
  await row.getByText(/^Approved by key:.* just now$/).waitFor();
  expect(await row.evaluate((element) => element === document.activeElement)).toBe(true);
  expect(await row.getByRole("button").count()).toBe(0);
  await menuEntry(page, "Approvals").waitFor();
  await inspect(page, "approvals-approved");
  await row.getByRole("link", { name: "See what followed in the conversation" }).press("Enter");
  await see(page, "Result: 20");
  await see(page, "Staff has approved calculator.");
  expect(page.url()).toContain(conversationId);
  await page.locator(".tool-call").getByText("approved", { exact: true }).waitFor();
  await inspect(page, "conversation-continued");
  await page.getByRole("tab", { name: "Turns" }).click();
  await page.getByText("After a decision of staff").click();
  await see(page, /^It continues /);
  // It waits no more.
  await page.getByLabel("Sections").getByRole("link", { name: "Approvals" }).click();
  await see(page, "Nothing waits for approval");
  await inspect(page, "approvals-empty");
});

it("denies a call with a reason, and follows what others decide and ask", async () => {
  const agent = await app.service.newAgent(BY_STAFF);
  const [first, second] = [await ask(agent, "1 + 1"), await ask(agent, "2 + 2")];
  const page = await app.open("/approvals", staff);
  await rowOf(page, "1 + 1").getByLabel("Reason to deny calculator").fill("not now");
  await decide(second.turnId, "deny", "too dear");
  await rowOf(page, "2 + 2").getByText("denied", { exact: true }).waitFor();
  await rowOf(page, "1 + 1").getByRole("button", { name: "Approve", disabled: false }).waitFor();
  const paused = page.evaluate(
    () =>
      new Promise<(string | null | undefined)[]>((resolve) => {
        const observer = new MutationObserver(() => {
          const rows = [...document.querySelectorAll(".approval")].filter((row) => row.querySelector('[aria-disabled="true"]') !== null);
          if (rows.length > 0) resolve(rows.map((row) => row.querySelector("a")?.textContent));
        });
        observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ["aria-disabled"] });
      }),
  );
  await ask(agent, "3 + 3");
  await rowOf(page, "3 + 3").waitFor();
  await menuEntry(page, "Approvals 2 waiting").waitFor();
  // A click on a call that has just come or moved may be meant for another one.
  expect(await paused).toEqual(["What is 3 + 3?", "What is 1 + 1?"]);
  // What was typed stays, and the decided call keeps its place.
  const groups = page.getByRole("list", { name: "Calls that wait for staff" }).getByRole("group");
  expect(await groups.getByRole("link", { name: /^What/ }).allInnerTexts()).toEqual(
    ["3 + 3", "2 + 2", "1 + 1"].map((it) => `What is ${it}?`),
  );
  await rowOf(page, "1 + 1").getByRole("button", { name: "Deny" }).click();
  await rowOf(page, "1 + 1")
    .getByText(/^Denied by key:/)
    .waitFor();
  await inspect(page, "approvals-decided");
  await rowOf(page, "1 + 1").getByRole("link", { name: "What is 1 + 1?" }).click();
  await see(page, "Staff has denied calculator.");
  await see(page, /^Result: .*not now/);
  expect(page.url()).toContain(first.conversationId);
});

it("filters by agent and user", async () => {
  const agent = await app.service.newAgent(BY_STAFF);
  await ask(agent, "6 * 1", { userId: "bob" });
  await ask(agent, "7 * 1", { userId: "eve" });
  const page = await app.open(`/approvals?agentId=${agent}`, staff);
  await rowOf(page, "7 * 1").waitFor();
  await page.getByLabel("User").fill("bob");
  await rowOf(page, "7 * 1").waitFor({ state: "hidden" });
  await rowOf(page, "6 * 1").waitFor();
  await page.getByLabel("User").fill("nobody");
  await see(page, "Nothing fits");
});

it("says why a decision was not stored", async () => {
  const agent = await app.service.newAgent(BY_STAFF);
  const { turnId } = await ask(agent, "8 * 8");
  const page = await app.open(`/approvals?agentId=${agent}`, app.service.key("agents:read,conversations:read,tools:approve"));
  await see(page, "not live without events:read");
  const row = rowOf(page, "8 * 8");
  await row.waitFor();
  const answer = { status: 403, contentType: "application/problem+json" };
  for (const [code, sentence] of [
    ["own_conversation", "This conversation is your own. Let another member of staff decide."],
    ["insufficient_scope", /^Your credential may not decide this/],
    ["conversation_busy", /^The agent is still working on this turn/],
    ["internal_error", "A title."],
  ] as const) {
    const body = JSON.stringify({ code, title: "A title.", detail: "A detail.", retryable: false, status: 403, type: "about:blank" });
    await page.route("**/actions", (route) => route.fulfill({ ...answer, body }), { times: 1 });
    await row.getByRole("button", { name: "Approve" }).click();
    await row.getByRole("alert").getByText(sentence).waitFor();
  }
  await inspect(page, "approvals-rejected");
  await decide(turnId, "deny");
  await row.getByRole("button", { name: "Approve" }).click();
  await row
    .getByRole("alert")
    .getByText(/^Somebody else has decided meanwhile/)
    .waitFor();
  await row.getByText(/^Denied by key:/).waitFor();
});

it("explains which scopes are missing", async () => {
  const agent = await app.service.newAgent(BY_STAFF);
  await ask(agent, "9 * 9");
  const page = await app.open(`/approvals?agentId=${agent}`, app.key);
  await see(page, "You can see what waits, but not decide.");
  await rowOf(page, "9 * 9").waitFor();
  expect(await page.getByRole("button", { name: /Approve|Deny/ }).count()).toBe(0);
  await menuEntry(page, "Approvals").waitFor();
  await inspect(page, "approvals-read-only");
  const other = await app.open("/approvals", app.service.key("agents:read,tools:approve"));
  await see(other, "Your credential may not see this");
});

it("shows in the chat what waits for staff, after a reload too", async () => {
  const agent = await app.service.newAgent(BY_STAFF);
  for (const [credential, links] of [
    [staff, 1],
    [app.key, 0],
  ] as const) {
    const page = await app.open(`/chat/${agent}/waits-${links}`, credential, true);
    await page.getByLabel("Message", { exact: true }).fill("What is 12 * 12?");
    await page.keyboard.press("Enter");
    const waiting = page.getByRole("region", { name: "Waiting call of calculator" });
    await waiting.getByText("Waits for approval by staff").waitFor();
    expect(await waiting.getByRole("link", { name: "Decide in Approvals" }).count()).toBe(links);
    if (links === 0) continue;
    await inspect(page, "chat-staff");
    await page.reload();
    await waiting.getByText("expires in 7 days", { exact: true }).waitFor();
    await inspect(page, "chat-staff-reloaded");
    await waiting.getByRole("link", { name: "Decide in Approvals" }).click();
    await rowOf(page, "12 * 12").waitFor();
  }
});

it("shows in the chat what staff has decided, and the reply after it", async () => {
  const agent = await app.service.newAgent(BY_STAFF);
  const page = await app.open(`/chat/${agent}/decided`, staff, true);
  await page.getByLabel("Message", { exact: true }).fill("What is 13 * 13?");
  await page.keyboard.press("Enter");
  const waiting = page.getByRole("region", { name: "Waiting call of calculator" });
  await waiting.waitFor();
  const { turns } = await app.service.stored(agent);
  await decide(turns[0].id, "approve");
  await see(page, "Result: 169");
  await see(page, "Staff has approved calculator.");
  await waiting.waitFor({ state: "hidden" });
  // Its reply is the only one that was added, and has ended.
  await expect.poll(() => page.getByRole("article", { name: "Agent" }).count()).toBe(2);
  await expect.poll(() => page.getByRole("button", { name: "Stop" }).count()).toBe(0);
  await inspect(page, "chat-staff-decided");
  await page.reload();
  await see(page, "Staff has approved calculator.");
  expect(await page.getByRole("article", { name: "Agent" }).count()).toBe(2);
  await inspect(page, "chat-staff-decided-reloaded");
});

it("reads the list once for the page and the menu, and says when a call expires", async () => {
  const agent = await app.service.newAgent({ ...BY_STAFF, actionTimeoutSeconds: 60 });
  await ask(agent, "14 * 14");
  const page = await app.open("/approvals", "");
  let requests = 0;
  page.on("request", (request) => (requests += Number(request.url().includes("/api/turns?"))));
  await signIn(page, staff);
  const waiting = rowOf(page, "14 * 14").getByRole("region", { name: "Waiting call of calculator" });
  // The abbreviation ends with the only period.
  await waiting.getByText(/^expires in \d+ (sec|min)\.$/).waitFor();
  await menuEntry(page, /^Approvals \d+ waiting$/).waitFor();
  expect(requests).toBe(1);
});
