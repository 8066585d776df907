// Members of staff who answer in place of the agent.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, inspect, SCOPES, see, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

it("finds a conversation that waits, takes it over, answers and gives it back", async () => {
  const agent = await app.service.newAgent({ engine: "rules", allowHandOver: true });
  const chat = { agentId: agent, message: "I need a person", userId: "ada" };
  const { conversationId } = (await app.service.call("POST", "/api/chat", chat)).body;
  const path = `/api/conversations/${conversationId}`;
  await app.service.call("PATCH", path, { handledBy: "staff" });
  const page = await app.open("/conversations");
  await page.getByLabel("Waiting for staff").check();
  await page.getByRole("link", { name: /I need a person/ }).click();
  await see(page, "handled by staff");
  await page.getByLabel("Your name").fill("Mia");
  await page.getByRole("button", { name: "Take over" }).click();
  await expect.poll(async () => (await app.service.call("GET", path)).body.assignee).toBe("Mia");
  await page.getByLabel("Message to the user").fill("May I help?");
  await page.getByLabel("Message to the user").press("Enter");
  await page.getByRole("article", { name: "Mia" }).getByText("May I help?").waitFor();
  await page.getByText("Notes", { exact: true }).click();
  await page.getByLabel("Note for colleagues").fill("Wants a refund");
  await page.getByLabel("Note for colleagues").press("Enter");
  await page.getByRole("list", { name: "Notes" }).getByText("Wants a refund").waitFor();
  await page
    .getByLabel("Files to add to the note")
    .setInputFiles({ name: "letter.txt", mimeType: "text/plain", buffer: Buffer.from("Hello") });
  await page.getByRole("button", { name: "Remove letter.txt" }).waitFor();
  await page.getByRole("button", { name: "Save note", disabled: false }).click();
  await page.getByRole("list", { name: "Notes" }).getByRole("link", { name: "letter.txt" }).waitFor();
  await inspect(page, "desk", "Message to the user");
  for (let left = 2; left > 0; left -= 1) {
    await page.getByRole("button", { name: "Delete note", disabled: false }).first().click();
    await expect.poll(async () => (await app.service.call("GET", `${path}/notes`)).body.data.length).toBe(left - 1);
  }
  await expect.poll(async () => (await app.service.call("GET", `${path}/notes`)).body.data).toEqual([]);
  await page.getByRole("button", { name: "Give back to the agent" }).click();
  await see(page, "handled by the agent");
  const { handledBy, assignee, waitingSince } = (await app.service.call("GET", path)).body;
  expect([handledBy, assignee, waitingSince]).toEqual(["agent", undefined, undefined]);
});

/** Opens the socket of a user in a page of its own: sends commands, and returns the live data that it has received. */
const openSocket = async (userId: string, conversationId: string) => {
  const scopes = "user-tokens:issue,chat:write,conversations:read,events:read";
  const headers = { authorization: `Bearer ${app.service.key(scopes)}` };
  const { token } = (await app.service.call("POST", "/api/user-tokens", { userId }, headers)).body;
  const page = await app.open("", "");
  const socket = await page.evaluateHandle(
    async ([token, channel]) => {
      const socket = new WebSocket(`${location.origin.replace("http", "ws")}/api/ws`, "agent-service.v1");
      const live: unknown[] = [];
      await new Promise<void>((resolve) => {
        socket.onopen = () => socket.send(JSON.stringify({ id: 1, type: "connect", token, channels: [channel] }));
        socket.onmessage = ({ data }) => {
          const frame = JSON.parse(data);
          if (frame.type === "live") live.push(frame.event);
          if (frame.type === "reply") resolve();
        };
      });
      return { socket, live };
    },
    [token, `conversation:${conversationId}`] as const,
  );
  return {
    type: (typing: boolean) =>
      socket.evaluate(({ socket }, command) => socket.send(JSON.stringify({ id: 2, type: "typing", ...command })), {
        conversationId,
        typing,
      }),
    live: () => socket.evaluate(({ live }) => live),
  };
};

it("shows that the user types, and reports to the user that staff does", async () => {
  const agent = await app.service.newAgent({ engine: "rules", allowHandOver: true });
  const chat = { agentId: agent, message: "Is anybody there?", userId: "grace" };
  const { conversationId } = (await app.service.call("POST", "/api/chat", chat)).body;
  const page = await app.open(`/conversations/${conversationId}`);
  await page.getByLabel("Message to the user").waitFor();
  const user = await openSocket("grace", conversationId);
  const typing = page.getByRole("status").getByText("The user is typing…");
  // The page may not follow the conversation yet.
  await expect
    .poll(async () => {
      await user.type(false);
      await user.type(true);
      return typing.count();
    })
    .toBe(1);
  await inspect(page, "desk-typing", "Message to the user");
  await user.type(false);
  await typing.waitFor({ state: "hidden" });
  await user.type(true);
  await typing.waitFor();
  // What was typed has been sent.
  await app.service.call("POST", "/api/chat", { conversationId, message: "Hello?", userId: "grace" });
  await typing.waitFor({ state: "hidden" });
  const report = (typing: boolean) => ({ type: "typing.updated", conversationId, actor: "staff", typing });
  await page.getByLabel("Message to the user").pressSequentially("Yes");
  await expect.poll(user.live).toEqual([report(true)]);
  await page.keyboard.press("Enter");
  await expect.poll(user.live).toEqual([report(true), report(false)]);
});

const CALCULATOR = {
  engine: "rules",
  tools: [{ name: "calculator", approval: "always", approver: "staff" }],
  rules: [
    { pattern: "what is (.+)", call: { tool: "calculator", arguments: { expression: "{{capture.1}}" } }, reply: "Result: {{result}}" },
  ],
};

it("decides about a call that waits for staff", async () => {
  const agent = await app.service.newAgent(CALCULATOR);
  const ask = async (expression: string) => {
    const chat = { agentId: agent, message: `What is ${expression}`, userId: "ada" };
    return (await app.service.call("POST", "/api/chat", chat)).body.conversationId;
  };
  const staff = app.service.key(`${SCOPES},tools:approve`);
  const page = await app.open(`/conversations/${await ask("6 * 7")}`, staff);
  const waiting = page.getByRole("region", { name: "Waiting call of calculator" });
  await waiting.getByText('"expression": "6 * 7"').waitFor();
  await inspect(page, "desk-decision", "Message to the user");
  await waiting.getByRole("button", { name: "Approve", disabled: false }).press("Enter");
  await see(page, "Result: 42");
  await see(page, "Staff has approved calculator.");
  expect(await waiting.count()).toBe(0);
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("calculator");
  // While staff handles the conversation, the call is made, and nobody is asked for a reply.
  const denied = await ask("8 * 9");
  await app.service.call("PATCH", `/api/conversations/${denied}`, { handledBy: "staff" });
  const other = await app.open(`/conversations/${denied}`, staff);
  await other.getByLabel("Reason to deny calculator").fill("not today");
  await other.getByRole("button", { name: "Deny", disabled: false }).press("Enter");
  // The call is shown with the turn that made it, and soon with the one that reports the decision.
  await other.locator(".tool-call").getByText("denied", { exact: true }).first().waitFor();
  // Without the scope, it is only shown.
  const reader = await app.open(`/conversations/${await ask("2 * 3")}`);
  await reader.getByRole("region", { name: "Waiting call of calculator" }).waitFor();
  expect(await reader.getByRole("button", { name: /Approve|Deny/ }).count()).toBe(0);
});

/** Presses a key until an element has the focus, which is visible there. */
const moveTo = async (page: Page, key: "Tab" | "Shift+Tab", role: "button" | "link" | "textbox" | "checkbox", name: string | RegExp) => {
  const wanted = page.getByRole(role, { name });
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press(key);
    const isThere = await wanted.first().evaluate((element) => element === document.activeElement);
    if (!isThere) continue;
    const outline = await wanted.first().evaluate((element) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      return `${outlineStyle} ${outlineWidth}`;
    });
    expect(outline, String(name)).toBe("solid 2px");
    return;
  }
  expect.unreachable(`${name} cannot be reached`);
};

it("needs no mouse: claim, reply, note, decide, hand back", async () => {
  const agent = await app.service.newAgent(CALCULATOR);
  const chat = { agentId: agent, message: "What is 3 * 3", userId: "keys" };
  const { conversationId } = (await app.service.call("POST", "/api/chat", chat)).body;
  const path = `/api/conversations/${conversationId}`;
  await app.service.call("PATCH", path, { handledBy: "staff" });
  const page = await app.open(`/conversations?agentId=${agent}`, app.service.key(`${SCOPES},tools:approve`));
  await page.getByRole("list", { name: "Conversations" }).getByRole("link").waitFor();
  await moveTo(page, "Tab", "checkbox", "Waiting for staff");
  await page.keyboard.press("Space");
  await moveTo(page, "Tab", "link", /What is 3 \* 3/);
  await page.keyboard.press("Enter");
  const field = page.getByLabel("Message to the user");
  await field.waitFor();
  const focused = (element = field) => expect.poll(() => element.evaluate((it) => it === document.activeElement)).toBe(true);
  // The slash moves to the message, past those of the conversation.
  await page.keyboard.press("/");
  await focused();
  await moveTo(page, "Shift+Tab", "textbox", "Your name");
  await page.keyboard.type("Mia");
  await moveTo(page, "Shift+Tab", "button", "Take over");
  await page.keyboard.press("Enter");
  await focused();
  await expect.poll(async () => (await app.service.call("GET", path)).body.assignee).toBe("Mia");
  await page.keyboard.type("One moment");
  await page.keyboard.press("Enter");
  await page.getByRole("article", { name: "Mia" }).getByText("One moment").waitFor();
  await focused();
  expect(await field.inputValue()).toBe("");

  await moveTo(page, "Tab", "button", "Send");
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Notes");
  await page.keyboard.press("Enter");
  await moveTo(page, "Tab", "textbox", "Note for colleagues");
  await page.keyboard.type("Asks for a sum");
  await moveTo(page, "Tab", "button", "Save note");
  await page.keyboard.press("Enter");
  await page.getByRole("list", { name: "Notes" }).getByText("Asks for a sum").waitFor();
  await moveTo(page, "Tab", "button", "Delete note");
  await page.keyboard.press("Enter");
  await page.getByRole("list", { name: "Notes" }).getByText("Asks for a sum").waitFor({ state: "hidden" });
  await focused(page.getByLabel("Note for colleagues"));

  await moveTo(page, "Shift+Tab", "button", "Approve");
  await page.keyboard.press("Enter");
  await page.locator(".tool-call").getByText("approved", { exact: true }).first().waitFor();
  await moveTo(page, "Tab", "button", "Give back to the agent");
  await page.keyboard.press("Enter");
  await see(page, "handled by the agent");
  await focused(page.getByRole("region", { name: "Desk" }));
  await moveTo(page, "Tab", "button", "Take over");
});
