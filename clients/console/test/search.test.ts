// Finding conversations, and erasing a user.
import { afterAll, beforeAll, expect, it } from "vitest";
import { splitAtMatches } from "../src/conversations/words.js";
import { type Console, inspect, SCOPES, see, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  expect(app.faults).toEqual([]);
  await app.stop();
});

const PARCEL = "Good morning! Last week I ordered a kettle, and the parcel has not arrived.";

/** Waits until the service finds this number of conversations. */
const found = (search: string, number: number) =>
  expect
    .poll(async () => (await app.service.call("GET", `/api/conversations?q=${encodeURIComponent(search)}`)).body.data.length, {
      timeout: 15_000,
    })
    .toBe(number);

it.each([
  ["My PARCEL, not parcels", "parcel", ["PARCEL"]],
  ["an e-mail, e and mail", "e-mail mail", ["e-mail", "mail"]],
  ["e. mail or email", "e-mail", ["e. mail"]],
  ["(a) + b_c", "+ b a", ["a", "b"]],
  ["東京タワーtower", "タワー tower", ["タワー", "tower"]],
  ["Straße, ÀÉ", "straße àé", ["Straße", "ÀÉ"]],
  ["nothing", " * ? ", []],
])("marks in %j what a search for %j has found", (text, search, marked) => {
  const parts = splitAtMatches(text, search);
  expect(parts.filter((_, index) => index % 2 === 1)).toEqual(marked);
  expect(parts.join("")).toBe(text);
});

it("finds conversations by words of messages and titles, and marks them", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  await app.service.call("POST", "/api/chat", { agentId: agent, message: PARCEL, userId: "ada" });
  await app.service.call("POST", "/api/chat", { agentId: agent, message: "A refund, please", title: "Broken kettle" });
  await found("kettle", 2);
  const page = await app.open("/conversations", app.service.key(`${SCOPES},tools:approve`));
  const rows = page.getByRole("list", { name: "Conversations" }).getByRole("listitem");
  await expect.poll(() => rows.count()).toBe(2);
  // In another field a slash is text.
  await page.getByLabel("User").focus();
  await page.keyboard.press("/");
  expect(await page.getByLabel("User").inputValue()).toBe("/");
  await page.getByLabel("User").fill("");
  await page.getByRole("heading", { name: "Conversations" }).click();
  await page.keyboard.press("/");
  await page.keyboard.type("KETTLE");
  const search = page.getByRole("searchbox", { name: "Search" });
  expect(await search.inputValue()).toBe("KETTLE");
  await expect.poll(() => page.locator("mark").allInnerTexts()).toEqual(["kettle", "kettle"]);
  expect(await rows.first().locator("strong").innerText()).toBe("Broken kettle");
  // Its title is this message, which is not repeated.
  expect(await rows.last().locator(".snippet").allInnerTexts()).toEqual([PARCEL]);
  expect(new URL(page.url()).searchParams.get("q")).toBe("KETTLE");
  await inspect(page, "search");

  // Results stay where they are while conversations continue; the page reads what waits for staff again.
  let searches = 0;
  page.on("request", (request) => (searches += Number(request.url().includes("q=KETTLE"))));
  const { id } = (await app.service.call("GET", "/api/conversations?userId=ada")).body.data[0];
  const refreshed = page.waitForRequest(/waitingFor=staff/);
  await app.service.call("POST", "/api/chat", { conversationId: id, message: "And the kettle?" });
  await refreshed;
  expect(await rows.first().locator("strong").innerText()).toBe("Broken kettle");
  // Deleted conversations disappear.
  const deleted = (await app.service.call("GET", "/api/conversations?q=refund")).body.data[0];
  expect((await app.service.call("DELETE", `/api/conversations/${deleted.id}`)).status).toBe(204);
  await expect.poll(() => rows.count(), { timeout: 20_000 }).toBe(1);
  expect(searches).toBe(1);
  await search.fill("kettle refund");
  await see(page, "Nothing found");
  await inspect(page, "search-nothing");
  await search.fill("");
  await expect.poll(() => rows.count()).toBe(1);
  expect(await page.locator("mark").count()).toBe(0);
});

it("leads to the message that was found, and back to the same list", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const line = (number: number) => ({ role: "user", content: `Line ${number}`, createdAt: "2026-01-02T03:04:05Z" });
  const messages = Array.from({ length: 260 }, (_, index) => line(index));
  const wanted = { ...line(20), content: "Where is my samovar?" };
  const long = { agentId: agent, userId: "vera", title: "Long", messages: messages.with(20, wanted) };
  expect((await app.service.call("POST", "/api/conversations", long)).status).toBe(201);
  await app.service.call("POST", "/api/conversations", { ...long, title: "A samovar", messages: messages.slice(0, 3) });
  await found("samovar", 2);
  const page = await app.open("/conversations?q=samovar&userId=vera&from=2026-01-01", app.key, true);
  await page.getByRole("link", { name: /Where is my samovar/ }).click();
  const message = page.getByRole("article", { name: "User" }).filter({ hasText: "samovar" });
  await expect.poll(() => message.evaluate((element) => element === document.activeElement), { timeout: 15_000 }).toBe(true);
  expect(await message.locator("mark").allInnerTexts()).toEqual(["samovar"]);
  await expect.poll(() => message.evaluate((element) => Math.abs(element.getBoundingClientRect().top - innerHeight / 2))).toBeLessThan(200);
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/search-message.png` });
  // A reload shows it, too.
  await page.reload();
  await expect.poll(() => message.evaluate((element) => element === document.activeElement), { timeout: 15_000 }).toBe(true);
  await page.getByRole("link", { name: "← Conversations" }).press("Enter");
  await page.locator("mark").first().waitFor();
  expect(await page.getByRole("searchbox", { name: "Search" }).inputValue()).toBe("samovar");
  expect(await page.getByLabel("User", { exact: true }).inputValue()).toBe("vera");
  expect(await page.getByLabel("Last message from").inputValue()).toBe("2026-01-01");
  // The words of a title are in no message.
  await page.getByRole("link", { name: /A samovar/ }).click();
  await see(page, "Line 2");
  expect(await page.locator(".is-found, .notice").count()).toBe(0);
  await page.goto(`${page.url()}&message=${agent}`);
  await see(page, "The message that was found is no longer here.");
});

it("filters by rating, time and assignee", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const old = [{ role: "user", content: "I am old", createdAt: "2026-01-02T12:00:00Z" }];
  await app.service.call("POST", "/api/conversations", { agentId: agent, userId: "filtered", messages: old });
  const chat = async (message: string) =>
    (await app.service.call("POST", "/api/chat", { agentId: agent, message, userId: "filtered" })).body;
  const { conversationId, messageId } = await chat("I am rated");
  await app.service.call("PUT", `/api/conversations/${conversationId}/messages/${messageId}/feedback`, {
    rating: "down",
    userId: "filtered",
  });
  const mine = await chat("I am assigned");
  await app.service.call("PATCH", `/api/conversations/${mine.conversationId}`, { handledBy: "staff", assignee: "Mia" });
  const page = await app.open(`/conversations?agentId=${agent}`, app.key, true);
  const titles = () => page.getByRole("list", { name: "Conversations" }).locator("strong").allInnerTexts();
  await expect.poll(titles).toEqual(["I am assigned", "I am rated", "I am old"]);
  expect(await page.getByLabel("Rating").isVisible()).toBe(false);
  expect(await page.getByLabel("Assigned to me").count()).toBe(0);
  await page.getByText("More filters").press("Enter");
  await page.getByLabel("Rating").selectOption("down");
  await expect.poll(titles).toEqual(["I am rated"]);
  await inspect(page, "filters");
  await page.getByLabel("Rating").selectOption("up");
  await see(page, "No conversation fits");
  await page.getByLabel("Rating").selectOption("");
  await page.getByLabel("Last message to").fill("2026-01-02");
  await expect.poll(titles).toEqual(["I am old"]);
  await page.getByLabel("Last message from").fill("2026-01-03");
  await see(page, "No conversation fits");
  await page.getByLabel("Last message to").fill("");
  await expect.poll(titles).toEqual(["I am assigned", "I am rated"]);
  // Once this member of staff has a name.
  await page.getByRole("link", { name: /I am rated/ }).click();
  await page.getByLabel("Your name").fill("Mia");
  await page.getByRole("link", { name: "← Conversations" }).click();
  await page.getByLabel("Assigned to me").check();
  await expect.poll(titles).toEqual(["I am assigned"]);
});

it("says that older conversations are still being indexed, and finds them later", async () => {
  const page = await app.open("", "");
  let isIndexing = true;
  await page.route(/\/api\/conversations\?.*q=/, async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    await route.fulfill({ response, json: isIndexing ? { ...body, data: [], searchedTo: null } : body });
  });
  await page.goto(`${app.service.url}/console/conversations?q=parcel`);
  await page.getByLabel("API key or access token").fill(app.key);
  await page.keyboard.press("Enter");
  await see(page, "Older conversations are still being indexed.");
  await see(page, "Nothing found");
  await inspect(page, "search-indexing");
  isIndexing = false;
  await page.locator("mark").getByText("parcel").waitFor();
  expect(await page.getByText("Older conversations are still being indexed.").count()).toBe(0);
});

it("erases a user once its id is typed, and shows that the erasure has begun", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const userId = "grace@example.org";
  const chat = { agentId: agent, message: "My kettle leaks", userId };
  const { conversationId } = (await app.service.call("POST", "/api/chat", chat)).body;
  const page = await app.open(`/conversations/${conversationId}`, app.service.key(`${SCOPES},users:admin`));
  await page.getByRole("link", { name: userId }).click();
  await page.getByRole("link", { name: /My kettle leaks/ }).waitFor();
  const ask = page.getByRole("button", { name: "Erase this user…" });
  await ask.press("Enter");
  const dialog = page.getByRole("dialog", { name: `Erase everything about “${userId}”?` });
  await dialog.getByText("1 conversation, with messages").waitFor();
  const erase = page.getByRole("button", { name: "Erase the user" });
  const field = page.getByLabel(/^Type .* to confirm$/);
  await field.fill("grace");
  expect(await erase.isDisabled()).toBe(true);
  await field.press("Enter");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  expect((await app.service.call("GET", `/api/conversations/${conversationId}`)).status).toBe(200);
  await ask.click();
  await inspect(page, "erase");
  await field.fill(userId);
  await erase.click();
  const begun = page.getByRole("dialog", { name: `The erasure of “${userId}” has begun` });
  const erasureId = await begun.locator(".copyable .mono").innerText();
  await inspect(page, "erase-begun");
  await expect.poll(async () => (await app.service.call("GET", `/api/conversations/${conversationId}`)).status).toBe(404);
  await begun.getByRole("link", { name: "Activity", exact: true }).click();
  await page.getByRole("list", { name: "Events" }).getByText("user.erased").click();
  await see(page, `"erasureId": "${erasureId.trim()}"`);
  await inspect(page, "activity-erased");
});

it("erases only the user that is listed, and nobody without the scope", async () => {
  const page = await app.open("/conversations?userId=ada");
  await page.getByRole("heading", { name: "Conversations" }).waitFor();
  await page.getByRole("list", { name: "Conversations" }).waitFor();
  expect(await page.getByRole("button", { name: "Erase this user…" }).count()).toBe(0);
  const admin = await app.open("/conversations", app.service.key(`${SCOPES},users:admin`));
  await admin.getByRole("list", { name: "Conversations" }).waitFor();
  expect(await admin.getByRole("button", { name: "Erase this user…" }).count()).toBe(0);
});
