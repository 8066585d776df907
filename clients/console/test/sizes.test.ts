// Much data, and texts that are hard to lay out.
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

const LONG = "Donaudampfschifffahrtsgesellschaftskapitän".repeat(3).slice(0, 120);
const HEBREW = "סוכן הספרייה 📚👩🏽‍🏫 מסביר את שעות הפתיחה";

it("lays out long names, and texts from right to left", async () => {
  for (const name of [LONG, HEBREW]) {
    const { body } = await app.service.call("POST", "/api/agents", {
      name,
      personality: `${LONG} ${HEBREW}`,
      capabilities: [LONG.slice(0, 60)],
      config: { engine: "rules", rules: [{ pattern: LONG, reply: LONG }] },
    });
    await app.service.call("POST", "/api/chat", { agentId: body.id, message: LONG, userId: LONG.slice(0, 100), title: name });
  }
  const page = await app.open("/agents");
  await see(page, LONG);
  await inspect(page, "long-agents");
  expect(
    await page
      .getByText(HEBREW)
      .first()
      .evaluate((element) => getComputedStyle(element).direction),
  ).toBe("rtl");
  await page
    .getByRole("link", { name: new RegExp(`^${LONG}`) })
    .first()
    .click();
  await page.getByRole("heading", { name: LONG }).waitFor();
  await inspect(page, "long-agent");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await see(page, "1 conversation, with its");
  await inspect(page, "long-delete");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByLabel("Sections").getByRole("link", { name: "Conversations" }).click();
  await see(page, LONG);
  await inspect(page, "long-conversations");
  await page
    .getByRole("link", { name: new RegExp(`^${HEBREW}`) })
    .first()
    .click();
  await page.getByRole("heading", { name: HEBREW }).waitFor();
  await inspect(page, "long-conversation");
});

it("edits 200 rules, and leads to a fault in a late one", async () => {
  const rules = Array.from({ length: 200 }, (_, index) => ({ pattern: `rule number ${index + 1}\\b`, reply: `Reply ${index + 1}` }));
  const agent = await app.service.newAgent({ engine: "rules", rules });
  const page = await app.open(`/agents/${agent}`);
  await page.getByRole("button", { name: "Show more of 200 rules" }).waitFor();
  expect(await page.locator(".rule").count()).toBe(25);
  await page.getByLabel("Try a message").fill("This is rule number 150, I think");
  await see(page, "Reply 150");
  await see(page, "Matched.");
  for (let shown = 25; shown < 200; shown += 25) await page.getByRole("button", { name: "Show more of 200 rules" }).first().click();
  await page.locator(".rule").nth(179).locator("summary").click();
  await page.getByRole("textbox", { name: "Pattern" }).fill("(");
  const started = Date.now();
  await page.getByLabel("Reply", { exact: true }).fill("Typed into the form of 200 rules");
  expect(Date.now() - started).toBeLessThan(1_000);
  // The try-out leads to the fault, too, even if the rule is closed.
  const fault = page.getByRole("button", { name: "rules › 180 › pattern" });
  const focused = () => page.evaluate(() => document.activeElement?.id);
  await fault.waitFor();
  await page.locator(".rule").nth(179).locator("summary").click();
  await fault.click();
  await expect.poll(focused).toBe("field-rules-179-pattern");
  await page.getByLabel("Try a message").fill("");
  await page.locator(".rule").nth(179).locator("summary").click();
  await fault.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Save" }).click();
  await fault.click();
  await expect.poll(focused).toBe("field-rules-179-pattern");
  await inspect(page, "rules-200", "Pattern");
  // An open rule stays open where it is moved to.
  await page.getByRole("button", { name: "Move “(” up" }).click();
  await page.getByRole("button", { name: "Move “(” up" }).waitFor();
  expect(await page.locator(".rule[open]").count()).toBe(1);
});

it("edits large metadata, and gives back what was discarded", async () => {
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`key${index}`, "x".repeat(400)]));
  const { status, body } = await app.service.call("POST", "/api/agents", { name: "Large", config: { engine: "rules", metadata } });
  expect(status, JSON.stringify(body)).toBe(201);
  const page = await app.open(`/agents/${body.id}`);
  await page.getByText("Parameters").click();
  await page.getByLabel("Value 1", { exact: true }).fill("changed");
  await page.getByRole("button", { name: "Remove key9" }).click();
  await page.getByRole("button", { name: "Discard changes" }).click();
  expect(await page.getByLabel("Value 1", { exact: true }).inputValue()).toBe("x".repeat(400));
  await page.getByRole("button", { name: "Remove key9" }).waitFor();
});

it("pages through the log, and survives a burst of events", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const page = await app.open("/activity");
  const events = page.getByRole("list", { name: "Events" }).getByRole("listitem");
  await events.first().waitFor();
  let requests = 0;
  page.on("request", (request) => (requests += Number(/\/api\/(agents|conversations)/.test(request.url()))));
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(Array.from({ length: 10 }, () => app.service.call("POST", "/api/chat", { agentId: agent, message: "Hello" })));
  }
  const { headSeq } = (await app.service.call("GET", "/api/events?limit=1")).body;
  await events.getByText(String(headSeq), { exact: true }).waitFor();
  expect(await events.count()).toBe(50);
  expect(requests).toBeLessThan(50);
  // Back to the first event.
  await page.reload();
  await page.getByLabel("API key or access token").fill(app.key);
  await page.keyboard.press("Enter");
  await events.first().waitFor();
  const earlier = page.getByRole("button", { name: "Earlier events" });
  for (let shown = 50; shown < headSeq; shown += 50) {
    await earlier.click();
    await expect.poll(() => events.count()).toBe(Math.min(shown + 50, headSeq));
  }
  expect(await earlier.count()).toBe(0);
  // A filter finds an event that is far back.
  await page.getByLabel("Type").selectOption("agent.created");
  await earlier.click();
  await events.getByText("agent.created").first().waitFor();
});

it("reads only the newest messages of a long conversation again", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const id = (await app.service.call("POST", "/api/conversations", { agentId: agent })).body.id;
  const say = (message: string) => app.service.call("POST", "/api/chat", { conversationId: id, message });
  for (let number = 1; number <= 100; number += 1) await say(`Message ${number}`);
  const page = await app.open(`/conversations/${id}`);
  const messages = page.getByRole("log").getByRole("article");
  for (let shown = 50; shown < 200; shown += 50) {
    await expect.poll(() => messages.count()).toBe(shown);
    await page.getByRole("button", { name: "Older messages" }).click();
  }
  await expect.poll(() => messages.count()).toBe(200);
  let requests = 0;
  page.on("request", (request) => (requests += Number(request.url().includes("/messages"))));
  await say("One more");
  await expect.poll(() => messages.count()).toBe(202);
  expect(requests).toBe(1);
  expect(await messages.nth(200).innerText()).toContain("One more");
  // Of more than a page at once, nothing is left out either.
  for (let number = 1; number <= 30; number += 1) await say(`Burst ${number}`);
  await expect
    .poll(
      () =>
        page
          .locator(".bubble.user")
          .getByText(/^Burst/)
          .count(),
      { timeout: 20_000 },
    )
    .toBe(30);
  const older = page.getByRole("button", { name: "Older messages" });
  await expect
    .poll(
      async () => {
        if ((await older.count()) > 0) await older.click();
        return messages.count();
      },
      { timeout: 20_000 },
    )
    .toBe(262);
});
