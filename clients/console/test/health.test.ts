// The page about the process, while parts of the service are unavailable.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, inspect, see, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  // A tool server that does not answer.
  app = await startConsole({ MCP__SERVERS__TICKETS__URL: "http://127.0.0.1:9/mcp" });
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

it("shows the health of the process", async () => {
  const page = await app.open("/health");
  await see(page, "breaker closed");
  await see(page, "Open event streams");
  await expect.poll(() => page.getByText("Readiness").locator("..").innerText()).toContain("ready");
  const servers = page.getByRole("list", { name: "Tool servers" });
  await servers.getByText("tickets").waitFor();
  await servers.getByText("not available").waitFor();
  await inspect(page, "health");
});

it("shows open circuit breakers, and that pickers know them", async () => {
  const agent = await app.service.newAgent();
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Array.from({ length: 10 }, () => app.service.call("POST", "/api/chat", { agentId: agent, message: "fail 0" })));
  }
  const page = await app.open("/health");
  await see(page, "breaker open");
  await expect.poll(() => page.getByText("Open circuit breakers").locator("..").innerText()).toMatch(/[1-9]/);
  await inspect(page, "health-breaker");
  await page.goto(`${app.service.url}/console/agents/${agent}`);
  await page.getByLabel("API key or access token").fill(app.key);
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByLabel("Engine").innerText()).toContain("llm (not available now)");
});
