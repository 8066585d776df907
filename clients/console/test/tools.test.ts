// Tools: their policies in the editor of an agent, and the calls that wait for an answer.
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

const CART = { name: "open_cart", run: "client", description: "Opens the cart.", parameters: { type: "object" } };
const ASKED = { tools: [{ name: "calculator", approval: "always" }, CART] };

const openChat = async (agent: string, key: string) => {
  const page = await app.open(`/chat/${agent}/${key}`, app.key, true);
  const send = async (text: string) => {
    await page.getByLabel("Message", { exact: true }).fill(text);
    await page.keyboard.press("Enter");
  };
  return { page, send, waiting: page.getByRole("region", { name: "Waiting call of calculator" }) };
};

it("edits who approves a tool, and the tools of the page", async () => {
  const agent = await app.service.newAgent({ tools: [{ name: "calculator" }] });
  const page = await app.open(`/agents/${agent}`);
  await page.getByLabel("Calls need approval").selectOption("always");
  await page.getByLabel("Users see").selectOption("full");
  await page.getByLabel("Time limit in milliseconds").fill("5000");
  await page.getByLabel("Seconds to wait for an answer").fill("3600");
  await page.getByLabel("Users may add tools").check();
  await page.getByLabel("Users may send unrecorded chats").check();
  await page.getByRole("button", { name: "Add a tool of the page" }).click();
  const tool = page.getByRole("group", { name: "Tool 2" });
  await tool.getByLabel("Tool of the page").fill("open cart");
  await tool.getByLabel("Description").fill("Opens the cart.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "tools › 2 › name" }).click();
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("field-tools-1-name");
  await inspect(page, "agent-tools", "Tool of the page");
  await tool.getByLabel("Tool of the page").fill("open_cart");
  await tool.getByLabel("Arguments, as a JSON schema").fill('{"type": "object", "properties": {"id": {"type": "integer"}}}');
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Version 2.");
  const stored = async () => (await app.service.call("GET", `/api/agents/${agent}`)).body.config;
  expect(await stored()).toMatchObject({
    actionTimeoutSeconds: 3600,
    allowClientTools: true,
    allowUnrecorded: true,
    tools: [
      { name: "calculator", approval: "always", visibility: "full", timeoutMs: 5000 },
      {
        name: "open_cart",
        run: "client",
        description: "Opens the cart.",
        parameters: { type: "object", properties: { id: { type: "integer" } } },
      },
    ],
  });
  await page.getByRole("button", { name: "Remove tool 1" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Version 3.");
  expect((await stored()).tools).toMatchObject([{ name: "open_cart" }]);
});

it("leaves approval to staff, and offers nothing that does not fit", async () => {
  const agent = await app.service.newAgent({ tools: [{ name: "calculator", approval: "always" }] });
  const page = await app.open(`/agents/${agent}`);
  const isExcluded = (label: string, value: string) =>
    page
      .getByLabel(label)
      .locator(`option[value="${value}"]`)
      .evaluate((option) => (option as HTMLOptionElement).disabled);
  await page.getByLabel("Users see").waitFor();
  // Users must see what they approve.
  expect(await isExcluded("Users see", "none")).toBe(true);
  await see(page, "Users see what they must approve.");
  await page.getByLabel("Approved by").selectOption("staff");
  expect(await isExcluded("Users see", "none")).toBe(false);
  await page.getByLabel("Users see").selectOption("none");
  expect([await isExcluded("Approved by", ""), await isExcluded("Approved by", "user")]).toEqual([true, true]);
  await page.getByLabel("Calls need approval").selectOption("never");
  await page.getByLabel("Approved by").selectOption("");
  expect([await isExcluded("Calls need approval", "always"), await isExcluded("Calls need approval", "destructive")]).toEqual([true, true]);
  await page.getByLabel("Approved by").selectOption("staff");
  await page.getByLabel("Calls need approval").selectOption("destructive");
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Version 2.");
  const { tools } = (await app.service.call("GET", `/api/agents/${agent}`)).body.config;
  expect(tools).toEqual([{ name: "calculator", approval: "destructive", approver: "staff", visibility: "none" }]);
});

it("shows faults that the service finds in tools at their fields", async () => {
  const agent = await app.service.newAgent({ tools: [{ name: "calculator", approval: "always", approver: "staff", visibility: "none" }] });
  const page = await app.open(`/agents/${agent}`);
  await page.getByLabel("Tool", { exact: true }).fill("abacus");
  await page.getByLabel("Time limit in milliseconds").fill("5");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "tools › 1 › timeoutMs" }).click();
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("field-tools-0-timeoutMs");
  await page.getByLabel("Time limit in milliseconds").fill("500");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "tools › 1 › name" }).click();
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("field-tools-0-name");
  await page.getByLabel("Tool", { exact: true }).fill("calculator");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Add a tool of the page" }).click();
  const tool = page.getByRole("group", { name: "Tool 2" });
  await tool.getByLabel("Tool of the page").fill("calculator");
  await tool.getByLabel("Description").fill("Calculates.");
  await tool.getByLabel("Users see").selectOption("none");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "tools › 2 › name" }).waitFor();
  await tool.getByLabel("Tool of the page").fill("abacus");
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Version 2.");
});

it("approves a call that waits, after a reload too, and shows who has decided", async () => {
  const agent = await app.service.newAgent(ASKED);
  const { page, send, waiting } = await openChat(agent, "approved");
  await send("call calculator");
  await waiting.getByText("17 * 24").waitFor();
  await waiting.getByText("Waits for approval", { exact: true }).waitFor();
  await waiting.getByText("expires in 7 days", { exact: true }).waitFor();
  await see(page, "Waits for an answer");
  await inspect(page, "chat-waiting");
  await page.reload();
  await waiting.getByRole("button", { name: "Approve" }).click();
  await see(page, /It returned .*408/);
  await waiting.waitFor({ state: "hidden" });
  await page.locator(".tool-call summary").click();
  await page.getByText(/^Answered by key:.* just now$/).waitFor();
  await see(page, "14 + 4 tokens");
  expect(await app.service.turns(agent)).toEqual(["completed"]);
});

it("denies a call with a reason", async () => {
  const { page, send, waiting } = await openChat(await app.service.newAgent(ASKED), "denied");
  await send("call calculator calculator");
  await expect.poll(() => waiting.count()).toBe(2);
  await waiting.last().getByLabel("Reason to deny calculator").fill("not needed");
  await waiting.first().getByLabel("Reason to deny calculator").fill("too dear");
  await waiting.first().getByRole("button", { name: "Deny" }).click();
  await expect.poll(() => waiting.count()).toBe(1);
  await waiting.getByRole("button", { name: "Deny" }).click();
  await see(page, /It returned .*too dear.*not needed/);
  await page.locator(".tool-call summary").first().click();
  await page
    .getByText(/^Denied by key:.* just now$/)
    .first()
    .waitFor();
  await inspect(page, "chat-denied");
});

it("continues without an answer, or stops the turn", async () => {
  const agent = await app.service.newAgent(ASKED);
  const { page, send, waiting } = await openChat(agent, "dismissed");
  await send("call calculator");
  await waiting.waitFor();
  await send("Hello");
  await see(page, "You said: Hello");
  await page.locator(".tool-call").getByText("dismissed", { exact: true }).waitFor();
  await send("call calculator");
  await waiting.waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await see(page, "Stopped");
  await page.locator(".tool-call").getByText("cancelled", { exact: true }).waitFor();
  expect(await app.service.turns(agent)).toEqual(["completed", "completed", "cancelled"]);
});

it("shows a turn that waits in its conversation, and its end", async () => {
  const agent = await app.service.newAgent(ASKED);
  const chat = { agentId: agent, conversationKey: "waits", message: "call open_cart" };
  const { body } = await app.service.call("POST", "/api/chat", chat);
  const page = await app.open(`/conversations/${body.conversationId}`);
  await see(page, "waits for an answer");
  await see(page, "Waits for the page that has this tool");
  expect(await page.getByRole("article", { name: "Agent" }).count()).toBe(1);
  await inspect(page, "conversation-waiting");
  await page.getByRole("tab", { name: "Turns" }).click();
  await see(page, "requires action");
  await page.getByRole("tab", { name: "Messages" }).click();
  const { turns } = await app.service.stored(agent);
  const actions = [{ callId: turns[0].toolCalls[0].id, output: "open" }];
  await app.service.call("POST", `/api/turns/${turns[0].id}/actions`, { actions });
  await see(page, /It returned .*open/);
  expect(await page.getByRole("article", { name: "Agent" }).count()).toBe(1);
  expect(await page.getByText("waits for an answer").count()).toBe(0);
});
