// Ratings of messages.
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

it("lists what users have rated, and rates a reply itself", async () => {
  const agent = await app.service.newAgent({ engine: "rules", fallbackReply: "It costs 5." });
  const chat = { agentId: agent, message: "How much is it?", userId: "ada" };
  const { conversationId, messageId } = (await app.service.call("POST", "/api/chat", chat)).body;
  const path = `/api/conversations/${conversationId}/messages/${messageId}/feedback`;
  const page = await app.open("/feedback");
  await app.service.call("PUT", path, { rating: "down", comment: "The price is wrong.", userId: "ada" });
  await page.getByLabel("Only bad").check();
  await inspect(page, "feedback");
  await page.getByRole("link", { name: "The price is wrong." }).click();
  await see(page, /user ada: The price is wrong\./);
  const good = page.getByRole("article", { name: "Agent" }).getByRole("button", { name: "Good" });
  await good.click();
  const ratings = async () => {
    const { body } = await app.service.call("GET", `/api/conversations/${conversationId}/messages`);
    return body.data[1].feedback.map(({ rating }: { rating: string }) => rating);
  };
  await expect.poll(ratings).toEqual(["down", "up"]);
  await expect.poll(() => good.getAttribute("aria-pressed")).toBe("true");
  await good.click();
  await expect.poll(ratings).toEqual(["down"]);
});
