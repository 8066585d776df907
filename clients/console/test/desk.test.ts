// Members of staff who answer in place of the agent.
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
  await inspect(page, "desk", "Message to the user");
  await page.getByRole("button", { name: "Delete note" }).click();
  await expect.poll(async () => (await app.service.call("GET", `${path}/notes`)).body.data).toEqual([]);
  await page.getByRole("button", { name: "Give back to the agent" }).click();
  await see(page, "handled by the agent");
  const { handledBy, assignee, waitingSince } = (await app.service.call("GET", path)).body;
  expect([handledBy, assignee, waitingSince]).toEqual(["agent", undefined, undefined]);
});
