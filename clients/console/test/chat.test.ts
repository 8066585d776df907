import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, clipboardOf, inspect, see, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

const openChat = async (agent: string, key: string, isKept = false) => {
  const page = await app.open(`/chat/${agent}/${key}`, app.key, isKept);
  const send = async (text: string) => {
    await page.getByLabel("Message", { exact: true }).fill(text);
    await page.keyboard.press("Enter");
  };
  const bubbles = () => page.getByRole("log").locator(".bubble").allInnerTexts();
  return { page, send, bubbles };
};

it("streams, stops, edits and regenerates replies", async () => {
  const agent = await app.service.newAgent();
  const page = await app.open("/chat");
  await page.getByRole("button", { name: /Ada/ }).waitFor();
  await inspect(page, "chat-new");
  await page.getByRole("button", { name: /Ada/ }).click();
  await page.getByLabel("Message", { exact: true }).fill("words 3 20");
  await page.keyboard.press("Enter");
  await see(page, "word1 word2 word3");
  await see(page, "7 + 3 tokens");
  const sent = page.getByRole("article", { name: "You" });
  await sent.first().getByRole("button", { name: "Edit the message" }).click();
  await page.getByLabel("Changed message").fill("words 2");
  await inspect(page, "chat-edit");
  await page.getByRole("button", { name: "Send the change" }).click();
  await see(page, "7 + 2 tokens");
  expect(await page.getByRole("log").locator(".bubble").allInnerTexts()).toEqual(["words 2", "word1 word2"]);
  await page.getByRole("button", { name: "Regenerate the reply" }).click();
  await expect.poll(async () => (await app.service.stored(agent)).turns.length).toBe(3);
  await page.getByText("7 + 2 tokens").waitFor();
  await page.getByLabel("Message", { exact: true }).fill("words 500 20");
  await page.keyboard.press("Enter");
  await see(page, /word5 /);
  await page.getByRole("button", { name: "Stop" }).click();
  await see(page, "Stopped");
  await inspect(page, "chat-stopped");
  expect((await app.service.turns(agent)).at(-1)).toBe("cancelled");
});

it("shows tool calls with their arguments and results", async () => {
  const { page, send } = await openChat(await app.service.newAgent(), "tools");
  await send("tool");
  await see(page, "That is it.");
  await page.getByText("calculator", { exact: true }).click();
  await see(page, "17 * 24");
  await see(page, "408");
  await send("bad tool");
  await expect.poll(() => page.locator(".tool-call").count()).toBe(2);
  await page.getByRole("button", { name: "Regenerate the reply" }).waitFor();
  await inspect(page, "chat");
});

it("shows that a fallback has replied", async () => {
  const { page, send } = await openChat(await app.service.newAgent({ fallbacks: ["rules"], fallbackReply: "Sorry." }), "degraded");
  await send("fail");
  await see(page, "Sorry.");
  await see(page, "degraded");
  await page.locator(".facts-line").getByText("rules", { exact: true }).waitFor();
  await inspect(page, "chat-degraded");
});

it("resumes a reply after a reload", async () => {
  const agent = await app.service.newAgent();
  const { page, send, bubbles } = await openChat(agent, "resumed", true);
  await send("hold");
  await see(page, "First half, ");
  await page.reload();
  await see(page, "First half, ");
  await inspect(page, "chat-streaming");
  app.service.model.release();
  await expect.poll(bubbles).toEqual(["hold", "First half, second half."]);
  await expect.poll(() => app.service.turns(agent)).toEqual(["completed"]);
});

it("begins a conversation with the greeting of the agent", async () => {
  const agent = await app.service.newAgent({ engine: "rules", greeting: "Welcome to the library!" });
  const { page, send, bubbles } = await openChat(agent, "greeted", true);
  await see(page, "Welcome to the library!");
  // Nothing is stored until something is sent.
  expect((await app.service.call("GET", `/api/conversations?agentId=${agent}`)).body.data).toEqual([]);
  await inspect(page, "chat-greeting");
  await send("Hello");
  await expect.poll(async () => (await bubbles()).length).toBe(3);
  const shown = await bubbles();
  expect(shown.slice(0, 2)).toEqual(["Welcome to the library!", "Hello"]);
  const { messages } = await app.service.stored(agent, "greeted");
  expect(messages.map(({ content }: { content: string }) => content)).toEqual(shown);
  await page.reload();
  await expect.poll(bubbles).toEqual(shown);
  expect(await page.getByRole("button", { name: "Regenerate the reply" }).count()).toBe(1);
});

it("shows the newest messages of a long chat, and older ones on request", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  for (let number = 1; number <= 60; number += 1) {
    await app.service.call("POST", "/api/chat", { agentId: agent, conversationKey: "long", message: `Message ${number}` });
  }
  const { page, send, bubbles } = await openChat(agent, "long");
  await expect.poll(async () => (await bubbles())[0]).toBe("Message 11");
  await page.getByRole("button", { name: "Older messages" }).click();
  await expect.poll(async () => (await bubbles())[0]).toBe("Message 1");
  await send("One more");
  await expect.poll(async () => (await bubbles()).length).toBe(122);
  expect(await page.getByRole("button", { name: "Older messages" }).count()).toBe(0);
});

it("returns rejected messages to the composer", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const { page, send, bubbles } = await openChat(agent, "rejected");
  const composer = page.getByLabel("Message", { exact: true });
  const tooLong = "z".repeat(40_000);
  await send(tooLong);
  await page.getByRole("alert").getByText("validation_failed").waitFor();
  await expect.poll(() => composer.inputValue()).toBe(tooLong);
  expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
  // It stays while others continue the conversation.
  await app.service.call("POST", "/api/chat", { agentId: agent, conversationKey: "rejected", message: "Good morning" });
  await expect.poll(async () => (await bubbles()).length).toBe(2);
  expect(await composer.inputValue()).toBe(tooLong);
  await send("Shorter");
  await expect.poll(async () => (await bubbles()).length).toBe(4);
  expect(await composer.inputValue()).toBe("");
  // A rejected change stays in its form.
  await page.getByRole("article", { name: "You" }).last().getByRole("button", { name: "Edit the message" }).click();
  await page.getByLabel("Changed message").fill(tooLong);
  await page.getByRole("button", { name: "Send the change" }).click();
  await page.getByRole("alert").getByText("validation_failed").waitFor();
  await expect.poll(() => page.getByLabel("Changed message").inputValue()).toBe(tooLong);
  await page.getByLabel("Changed message").fill("Changed");
  await page.getByRole("button", { name: "Send the change" }).click();
  await expect.poll(async () => (await bubbles())[2]).toBe("Changed");
  expect((await app.service.stored(agent, "rejected")).messages.map(({ role }: { role: string }) => role)).toEqual([
    "user",
    "agent",
    "user",
    "agent",
  ]);
});

it("shows failed turns with their problem", async () => {
  const agent = await app.service.newAgent();
  const { page, send } = await openChat(agent, "failed");
  await send("fail");
  await see(page, "engine_failed");
  await inspect(page, "chat-failed");
  await page.getByRole("link", { name: "Conversation and turns" }).click();
  await page.getByRole("tab", { name: "Turns" }).click();
  await page.getByLabel("Status").selectOption("failed");
  await see(page, "engine_failed");
  await inspect(page, "turns");
  await page.getByLabel("Status").selectOption("cancelled");
  await see(page, "No turn has this status");
});

it("names conversations by their first message, unless they have a title", async () => {
  const agent = await app.service.newAgent({ greeting: "Welcome to the library!" });
  const say = async (body: object) => (await app.service.call("POST", "/api/chat", { agentId: agent, ...body })).body.conversationId;
  const long = `When do you open${" and close".repeat(20)}?`;
  const greeted = (await app.service.call("POST", "/api/conversations", { agentId: agent })).body.id;
  await say({ conversationId: greeted, message: "Do you have\n\nnew novels?" });
  await say({ conversationId: greeted, message: "And old ones?" });
  await say({ message: long, conversationKey: "long" });
  await say({ message: "Anything else", title: "Opening hours" });
  await app.service.call("POST", "/api/conversations", { agentId: agent });
  const page = await app.open(`/conversations?agentId=${agent}`);
  const titles = page.getByRole("list", { name: "Conversations" }).locator("strong");
  // The newest first; a conversation with a greeting alone shows that.
  await expect
    .poll(() => titles.allInnerTexts())
    .toEqual(["Welcome to the library!", "Opening hours", `${long.slice(0, 120)}…`, "Do you have new novels?"]);
  await page.getByRole("link", { name: /new novels/ }).click();
  await page.getByRole("heading", { name: "Do you have new novels?" }).waitFor();
  expect(await page.title()).toBe("Do you have new novels? – Agent Service");
  await page.getByRole("button", { name: "Copy the id of the conversation" }).click();
  await expect.poll(() => clipboardOf(page)).toBe(greeted);
  await page.goBack();
  await page.getByRole("link", { name: /When do you open/ }).click();
  await page.getByRole("link", { name: "Continue the chat" }).click();
  await expect.poll(() => page.title()).toMatch(/^When do you open/);
});

it("finds conversations and follows them", async () => {
  const agent = await app.service.newAgent();
  const say = (message: string, more = {}) => app.service.call("POST", "/api/chat", { agentId: agent, message, ...more });
  await say("One", { userId: "grace" });
  await say("Two", { userId: "heidi", title: "A long discussion about opening hours in the library" });
  const page = await app.open("/conversations");
  await see(page, "A long discussion");
  await inspect(page, "conversations");
  await page.getByLabel("User").fill("grace");
  await expect.poll(() => page.getByRole("list", { name: "Conversations" }).getByRole("listitem").count()).toBe(1);
  await page.getByRole("link", { name: /grace/ }).click();
  await see(page, "You said: One");
  const id = new URL(page.url()).pathname.split("/").at(-1);
  await app.service.call("POST", "/api/chat", { conversationId: id, message: "tool" });
  await see(page, "That is it.");
  await inspect(page, "conversation");
  void app.service.call("POST", "/api/chat", { conversationId: id, message: "hold" });
  await see(page, "The agent is writing");
  // Its text is shown while it is written.
  await see(page, "First half, ");
  app.service.model.release();
  await expect
    .poll(async () => {
      app.service.model.release();
      return page.getByText("second half.").count();
    })
    .toBeGreaterThan(0);
  await page.getByLabel("Sections").getByRole("link", { name: "Conversations" }).click();
  // By agent, and the filter survives going into a conversation and back.
  const other = (await app.service.call("POST", "/api/agents", { name: "Barbara", config: { engine: "rules" } })).body.id;
  await app.service.call("POST", "/api/chat", { agentId: other, message: "Good morning" });
  await page.getByLabel("Agent", { exact: true }).fill("barb");
  await page.getByRole("option", { name: /Barbara/ }).click();
  const listed = page.getByRole("list", { name: "Conversations" }).getByRole("listitem");
  await expect.poll(() => listed.count()).toBe(1);
  expect(await listed.first().innerText()).toContain("Barbara");
  await listed.getByRole("link").click();
  await page.getByRole("tab", { name: "Turns" }).waitFor();
  await page.goBack();
  await expect.poll(() => listed.count()).toBe(1);
  expect(await page.getByLabel("Agent", { exact: true }).inputValue()).toBe("Barbara");
  await page.getByRole("button", { name: "All agents" }).click();
  await expect.poll(() => listed.count()).toBeGreaterThan(1);
  await page.getByLabel("User").fill("nobody");
  await see(page, "No conversation fits");
});
