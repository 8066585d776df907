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

it("rejects an unknown key, and shows tenant, scopes and limits of a known one", async () => {
  const page = await app.open("", "agk_unknown");
  await page.getByRole("alert").waitFor();
  await inspect(page, "sign-in");
  await page.getByLabel("API key or access token").fill(app.key);
  await page.keyboard.press("Enter");
  await see(page, "No agents yet");
  await inspect(page, "agents-empty");
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
  await page.getByRole("menuitemradio", { name: "As the system" }).click();
  await page.getByRole("menuitem", { name: "Credential and limits" }).click();
  await see(page, "keys:admin");
  await page.getByText("default", { exact: true }).last().waitFor();
  await see(page, "Open streams");
  await inspect(page, "account");
  // In memory only: a reload asks again.
  await page.reload();
  await page.getByLabel("API key or access token").waitFor();
});

it("creates an agent, with the service's faults at the fields", async () => {
  const page = await app.open("/agents/new");
  await page.getByLabel("Personality").fill("A patient librarian.");
  await page.getByLabel("Capabilities and tools").fill("calc");
  await page.getByRole("option", { name: /calculator/ }).click();
  await page.keyboard.type("book search");
  await page.keyboard.press("Enter");
  await page.keyboard.type("loans");
  await page.keyboard.press("Tab");
  await page.getByLabel("Engine").selectOption("rules");
  await page.getByRole("button", { name: "Add a rule" }).click();
  await page.getByRole("textbox", { name: "Pattern" }).fill("when .*open(");
  await page.getByLabel("Reply", { exact: true }).fill("From 9 to 18.");
  await page.getByRole("button", { name: "Create the agent" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByRole("button", { name: "name", exact: true }).click();
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("field-name");
  expect(await page.getByLabel("Name", { exact: true }).first().getAttribute("aria-invalid")).toBe("true");
  await page.keyboard.type("Ada");
  await page.getByRole("button", { name: "Create the agent" }).click();
  await page.getByRole("button", { name: "rules › 1 › pattern" }).click();
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("field-rules-0-pattern");
  await inspect(page, "agent-faults", "Pattern");
  await page.getByRole("textbox", { name: "Pattern" }).fill("when .*open");
  await page.getByRole("button", { name: "Create the agent" }).click();
  await page.getByRole("heading", { name: "Ada" }).waitFor();
  await see(page, "Version 1.");
  const id = page.url().split("/").at(-1);
  const { body } = await app.service.call("GET", `/api/agents/${id}`);
  expect(body).toMatchObject({
    name: "Ada",
    capabilities: ["calculator", "book search", "loans"],
    config: { engine: "rules", rules: [{ pattern: "when .*open", reply: "From 9 to 18." }] },
  });
});

it("tries the rules before they are saved", async () => {
  const rules = [
    { keywords: ["price"], reply: "It is free." },
    { pattern: "when .*open", reply: "From **9 to 18**." },
  ];
  const agent = await app.service.newAgent({ engine: "rules", rules });
  const page = await app.open(`/agents/${agent}`);
  await page.getByRole("button", { name: "Add a rule" }).click();
  await page.getByRole("textbox", { name: "Pattern" }).last().fill("open");
  await page.getByLabel("Reply", { exact: true }).last().fill("Later.");
  await page.getByLabel("Try a message").fill("When do you open?");
  await see(page, "By a rule.");
  expect(await page.getByLabel("Try the rules").locator("strong").innerText()).toBe("9 to 18");
  await see(page, "The keyword “price” does not occur.");
  await see(page, "Matched.");
  await see(page, "Not tried: another rule has matched before.");
  await inspect(page, "rule-try-out", "Try a message");
  await page.getByLabel("Try a message").fill("Hello");
  await see(page, "By small talk.");
});

it("lets a rule call a tool, and shows the call before the rule is saved", async () => {
  const rules = [{ pattern: "what is (.*)[?]", reply: "Well." }];
  const agent = await app.service.newAgent({ engine: "rules", rules, tools: [{ name: "calculator" }] });
  const page = await app.open(`/agents/${agent}`);
  await page.locator(".rule summary").first().click();
  await page.getByRole("button", { name: "Call a tool before the reply" }).click();
  await page.getByLabel("Tool that is called before the reply").fill("calculator");
  await page.getByLabel("Reply", { exact: true }).fill("It is {{result}}.");
  await page.getByLabel("Arguments").fill('{"expression": ');
  await page.getByLabel("Try a message").fill("What is 17 * 24?");
  await page.getByRole("button", { name: "rules › 1 › call › arguments" }).waitFor();
  await see(page, "is not valid JSON: ");
  await page.getByLabel("Arguments").fill('{"expression": "{{capture.1}}"}');
  await see(page, 'Calls calculator with {"expression":"17 * 24"}, then replies:');
  await see(page, "It is {{result}}.");
  await inspect(page, "rule-call", "Arguments");
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Version 2.");
  const stored = async () => (await app.service.call("GET", `/api/agents/${agent}`)).body.config.rules[0].call;
  expect(await stored()).toEqual({ tool: "calculator", arguments: { expression: "{{capture.1}}" } });
});

it("leaves out the system message for models that accept none, and copies the id", async () => {
  const agent = await app.service.newAgent();
  const page = await app.open(`/agents/${agent}`);
  await page.getByText("Parameters").click();
  const stored = async () => (await app.service.call("GET", `/api/agents/${agent}`)).body.config.llm?.systemRole;
  for (const [isChosen, expected] of [
    [true, false],
    [false, undefined],
  ] as const) {
    await page.getByLabel("No system message").setChecked(isChosen);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(/^Version/).waitFor();
    await expect.poll(stored).toBe(expected);
  }
  await inspect(page, "agent-parameters", "Temperature");
  await page.getByRole("button", { name: "Copy the id of the agent" }).click();
  await see(page, "Copied to the clipboard.");
  expect(await clipboardOf(page)).toBe(agent);
});

it("edits the profile and what happens to conversations", async () => {
  const agent = await app.service.newAgent({ profile: { metadata: { colour: "teal" } } });
  const page = await app.open(`/agents/${agent}`);
  const save = () => page.getByRole("button", { name: "Save" }).click();
  const stored = async () => (await app.service.call("GET", `/api/agents/${agent}`)).body.config;
  await page.getByRole("heading", { name: "Profile" }).click();
  await page.getByLabel("Description for visitors").fill("Answers questions about books.");
  await page.getByLabel("Suggested messages").fill("Hello, when do you open?\n\n");
  await page.getByLabel("Suggested messages").pressSequentially("My loans\nMore\n");
  await page.getByLabel("Value 1").fill("navy");
  await page.getByRole("heading", { name: "Conversations" }).click();
  await page.getByLabel("Kept for").fill("a month");
  await page.getByLabel("A model writes titles").check();
  await page.getByLabel("Model of titles").fill("small");
  await page.keyboard.press("Escape");
  await page.getByLabel("Users may hand over to staff").check();
  await save();
  await page.getByRole("button", { name: "retention" }).click();
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("field-retention");
  await inspect(page, "agent-conversations", "Kept for");
  await inspect(page, "agent-profile", "Suggested messages");
  await page.getByLabel("Kept for").fill("30d");
  await save();
  await see(page, "Version 2.");
  const profile = {
    description: "Answers questions about books.",
    suggestions: ["Hello, when do you open?", "My loans", "More"],
    metadata: { colour: "navy" },
  };
  expect(await stored()).toMatchObject({ allowHandOver: true, titles: { model: "small" }, retention: "30d", profile });

  await page.getByLabel("Model of titles").fill("");
  await page.keyboard.press("Escape");
  await page.getByLabel("Users may hand over to staff").uncheck();
  await page.getByLabel("Suggested messages").fill("");
  await save();
  await see(page, "Version 3.");
  const { allowHandOver = false, titles, profile: left } = await stored();
  expect([allowHandOver, titles, left.suggestions ?? []]).toEqual([false, {}, []]);
  await page.getByLabel("A model writes titles").uncheck();
  await save();
  await see(page, "Version 4.");
  expect((await stored()).titles).toBeUndefined();
});

it("keeps members that the form does not know", async () => {
  const agent = await app.service.newAgent({ titles: { engine: "llm" } });
  const page = await app.open("/agents");
  const sent: Record<string, unknown>[] = [];
  // As of a later version of the service.
  await page.route(`**/api/agents/${agent}`, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    Object.assign(json.config, { later: { a: [1] }, profile: { later: 1 } });
    Object.assign(json.config.titles, { later: 2 });
    await route.fulfill({ response, json });
  });
  await page.route(`**/api/agents/${agent}/config`, (route) => {
    sent.push(route.request().postDataJSON());
    return route.abort();
  });
  await page.getByRole("list", { name: "Agents" }).locator(`a[href$="${agent}"]`).first().click();
  await page.getByRole("heading", { name: "Profile" }).click();
  await page.getByLabel("Description for visitors").fill("A librarian.");
  await page.getByRole("heading", { name: "Conversations", exact: true }).click();
  await page.getByLabel("Engine of titles").selectOption("");
  await page.getByRole("button", { name: "Save" }).click();
  await expect
    .poll(() => sent[0])
    .toMatchObject({ later: { a: [1] }, profile: { later: 1, description: "A librarian." }, titles: { later: 2 } });
});

it("says where a text is not valid JSON", async () => {
  const agent = await app.service.newAgent();
  const page = await app.open(`/agents/${agent}`);
  await page.getByText("Parameters").click();
  const field = page.getByLabel("Schema of replies");
  const faults = page.locator(".field", { has: field }).locator(".fault");
  for (const [text, fault] of [
    ['{"type" "object"}', /^is not valid JSON: .*position 8/],
    ["an object", /^is not valid JSON: /],
    ['"an object"', /^must be an object/],
  ] as const) {
    await field.fill(text);
    await page.getByRole("button", { name: "Save" }).click();
    await expect.poll(() => faults.allInnerTexts()).toEqual([expect.stringMatching(fault)]);
    expect(await page.getByRole("alert").innerText()).toContain(await faults.innerText());
    expect(await field.inputValue()).toBe(text);
    if (text.startsWith("{")) await inspect(page, "agent-no-json", "Schema of replies");
  }
  await field.fill('{"type": "object"}');
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Version 2.");
  expect((await app.service.call("GET", `/api/agents/${agent}`)).body.config.responseSchema).toEqual({ type: "object" });
});

it("merges the changes of another editor", async () => {
  const agent = await app.service.newAgent({ engine: "rules" });
  const page = await app.open(`/agents/${agent}`, app.service.key("agents:read,agents:write"));
  await page.getByLabel("Personality").fill("Mine");
  await page.getByLabel("Greeting").fill("Welcome!");
  await app.service.call("PATCH", `/api/agents/${agent}`, { personality: "Theirs", config: { fallbackReply: "Sorry." } });
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Somebody else has changed this agent");
  await see(page, "version 2 has other changes");
  await inspect(page, "conflict");
  await page.getByRole("group", { name: "Personality" }).getByLabel("Theirs").check();
  await page
    .getByRole("dialog", { name: /Somebody/ })
    .getByRole("button", { name: "Save" })
    .click();
  await see(page, "Version 3.");
  const stored = async () => (await app.service.call("GET", `/api/agents/${agent}`)).body;
  expect(await stored()).toMatchObject({ personality: "Theirs", config: { greeting: "Welcome!", fallbackReply: "Sorry." } });

  // Overwriting and discarding.
  for (const [choice, expected] of [
    ["Keep mine", "Once more"],
    ["Keep theirs", "Another"],
  ] as const) {
    await page.getByLabel("Personality").fill("Once more");
    await page.getByLabel("Greeting").fill(choice);
    await app.service.call("PATCH", `/api/agents/${agent}`, { personality: "Another" });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByLabel(choice).check();
    await page
      .getByRole("dialog", { name: /Somebody/ })
      .getByRole("button", { name: /Save|Discard/ })
      .click();
    await page.getByRole("dialog", { name: /Somebody/ }).waitFor({ state: "hidden" });
    await page.getByText(/^Version/).waitFor();
    expect((await stored()).personality).toBe(expected);
    await app.service.call("PATCH", `/api/agents/${agent}`, { personality: "Before" });
    await page.reload();
    await page.getByLabel("API key or access token").fill(app.key);
    await page.keyboard.press("Enter");
    await see(page, "Before");
  }
});

it("finds, lists and deletes agents", async () => {
  for (let number = 1; number <= 25; number += 1)
    await app.service.call("POST", "/api/agents", { name: `Zoe ${number}`, personality: "One of many" });
  const page = await app.open();
  await page.getByRole("button", { name: "Load more" }).click();
  await see(page, "Zoe 1");
  await inspect(page, "agents");
  await page.getByLabel("Name").fill("zoe 17");
  await expect.poll(() => page.getByRole("list", { name: "Agents" }).getByRole("listitem").count()).toBe(1);
  const { body } = await app.service.call("GET", "/api/agents?name=zoe+17");
  await app.service.call("POST", "/api/chat", { agentId: body.data[0].id, message: "Hello" });
  // By keyboard.
  await page.getByLabel("Name").focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await see(page, "1 conversation, with");
  await inspect(page, "agent-delete");
  await page.getByRole("button", { name: "Delete the agent" }).click();
  await see(page, "“Zoe 17” was deleted.");
  expect((await app.service.call("GET", `/api/agents/${body.data[0].id}`)).status).toBe(404);
});
