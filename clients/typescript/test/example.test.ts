import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import { createClient } from "../src/index.js";
import { folder, send, startExample, startPage } from "./example.js";
import { freePort } from "./free-port.js";

let example: Awaited<ReturnType<typeof startExample>>;
let browser: Browser;

beforeAll(async () => {
  example = await startExample();
  browser = await startBrowser();
});
afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));
afterAll(async () => {
  await browser?.close();
  await example?.stop();
});

/** Opens the page as a visitor; a second time with the same `context` in another tab. */
const open = async (context?: BrowserContext): Promise<Page> => {
  const page = await (context ?? (await browser.newContext({ viewport: { width: 1000, height: 520 } }))).newPage();
  page.on("pageerror", (error) => expect.unreachable(error.message));
  await page.goto(example.url);
  return page;
};

/** The texts of the messages, without their buttons. */
const texts = async (page: Page) => (await page.locator("article").allInnerTexts()).map((text) => text.replace("✎", "").trim());
const turnsOf = async (page: Page): Promise<string[]> => {
  const { data } = await example.client.conversations.list({ agentId: example.agentId });
  const shown = data.find(({ key }) => page.url().endsWith(`#${key}`));
  return shown ? (await example.client.conversations.listTurns(shown.id)).data.map(({ status }) => status) : [];
};
const listed = (page: Page) => page.locator("nav a").allInnerTexts();
/** Saves a picture of the page, if some are wanted. */
const screenshot = async (page: Page, name: string): Promise<void> => {
  const { SCREENSHOTS } = process.env;
  if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
};
const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index + 1}`).join(" ");

test("a reply is streamed, and the conversation and its events appear", async () => {
  const page = await open();
  await send(page, "words 30 20");
  await expect.poll(async () => (await texts(page))[1] ?? "").toMatch(/^word1 .*word5/);
  expect((await texts(page))[1]).not.toContain("word30");
  await expect.poll(() => texts(page)).toEqual(["words 30 20", words(30)]);
  await expect.poll(() => listed(page)).toEqual(["words 30 20"]);
  await send(page, "Hello");
  await expect
    .poll(async () => (await page.locator("aside p").allInnerTexts()).slice(0, 2))
    .toEqual([expect.stringContaining("turn.completed"), expect.stringContaining("turn.started")]);
  await expect.poll(() => texts(page)).toHaveLength(4);
  expect(await listed(page)).toEqual(["words 30 20"]);
});

test("stop ends the reply, and the page answers again", async () => {
  const page = await open();
  await send(page, "hold");
  await expect.poll(() => texts(page)).toEqual(["hold", "First half,"]);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect.poll(() => turnsOf(page)).toEqual(["cancelled"]);
  const marks = () => page.locator("article").evaluateAll((all) => all.map((one) => getComputedStyle(one, "::after").content));
  await expect.poll(marks).toEqual(["none", '"(stopped)"']);
  await send(page, "Hello");
  await expect.poll(() => texts(page)).toEqual(["hold", "First half,", "Hello", "You said: Hello"]);
});

test("a reload in the middle of a reply resumes it", async () => {
  const page = await open();
  await send(page, "hold");
  await expect.poll(() => texts(page)).toEqual(["hold", "First half,"]);
  await page.reload();
  await expect.poll(() => texts(page)).toEqual(["hold", "First half,"]);
  example.service.model.release();
  await expect.poll(() => texts(page)).toEqual(["hold", "First half, second half."]);
});

test("conversations are opened from the list, which is the same in all tabs", async () => {
  const page = await open();
  await send(page, "one");
  await expect.poll(() => texts(page)).toEqual(["one", "You said: one"]);
  await page.getByRole("button", { name: "New chat" }).click();
  await expect.poll(() => texts(page)).toEqual([]);
  const other = await open(page.context());
  await send(page, "two");
  for (const tab of [page, other]) await expect.poll(() => listed(tab)).toEqual(["two", "one"]);
  await page.bringToFront();
  await page.getByRole("link", { name: "one" }).click();
  await expect.poll(() => texts(page)).toEqual(["one", "You said: one"]);
  await page.goBack();
  await expect.poll(() => texts(page)).toEqual(["two", "You said: two"]);
});

test("a failed turn is shown with its problem, and is tried again", async () => {
  const page = await open();
  await send(page, "fail 2");
  await expect.poll(() => page.getByRole("alert").innerText()).toMatch(/^The reply engine/);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect.poll(() => turnsOf(page)).toEqual(["failed", "failed"]);
});

test("a failed turn without text shows no empty reply, and can be tried again after a reload", async () => {
  const page = await open();
  await send(page, "fail");
  for (const reload of [async () => {}, () => page.reload()]) {
    await reload();
    await expect.poll(() => page.getByRole("alert").innerText()).toMatch(/^The reply engine/);
    expect(await texts(page)).toEqual(["fail"]);
  }
  await page.getByRole("button", { name: "Try again" }).click();
  await expect.poll(() => turnsOf(page)).toEqual(["failed", "failed"]);
});

test("of a long conversation the newest messages are shown, and earlier ones on demand", async () => {
  const page = await open();
  await send(page, "Hello");
  await expect.poll(() => texts(page)).toHaveLength(2);
  const { data } = await example.client.conversations.list({ agentId: example.agentId });
  const { id } = data.find(({ key }) => page.url().endsWith(`#${key}`))!;
  const written = Array.from({ length: 398 }, (_, index) => `staff ${index + 1}`);
  for (const content of written) await example.client.conversations.writeMessage(id, { content });
  await page.reload();
  const earlier = page.getByRole("button", { name: "Earlier messages" });
  await earlier.waitFor();
  expect(await texts(page)).toEqual(written.slice(-100));
  for (let shown = 100; shown < 300; shown += 100) {
    await earlier.scrollIntoViewIfNeeded();
    // What the visitor looks at stays in its place.
    const first = page.getByText(`staff ${398 - shown + 1}`, { exact: true });
    const top = () => first.evaluate((one) => Math.round(one.getBoundingClientRect().top));
    const before = await top();
    await earlier.click();
    await expect.poll(() => page.locator("article").count()).toBe(shown + 100);
    expect(Math.abs((await top()) - before)).toBeLessThan(60);
  }
  await example.client.conversations.writeMessage(id, { content: "live" });
  await earlier.click();
  const all = ["Hello", "You said: Hello", ...written, "live"];
  await expect.poll(() => texts(page)).toEqual(all);
  expect(await earlier.count()).toBe(0);
});

test("no reply is shown before its first text, nor one that has none", async () => {
  const page = await open();
  const empty = () =>
    page.evaluate(() => {
      const seen: string[] = [];
      const look = () => {
        for (const one of document.querySelectorAll("article.agent")) if (!one.textContent?.trim()) seen.push(one.outerHTML);
      };
      new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
      Object.assign(window, { seen });
    });
  await empty();
  await send(page, "words 5 20");
  await expect.poll(() => texts(page)).toEqual(["words 5 20", words(5)]);
  await send(page, "fail");
  await page.getByRole("button", { name: "Try again" }).waitFor();
  expect(await page.evaluate(() => (window as unknown as { seen: string[] }).seen)).toEqual([]);
});

test("a page that loses its network says so, and sends the message later", async () => {
  const page = await open();
  await send(page, "one");
  await expect.poll(() => texts(page)).toHaveLength(2);
  await page.context().setOffline(true);
  await send(page, "two");
  await expect.poll(() => page.getByRole("alert").innerText(), { timeout: 20_000 }).toBe("You are offline.");
  expect(await texts(page)).toEqual(["one", "You said: one", "two"]);
  await page.context().setOffline(false);
  await expect.poll(() => texts(page)).toEqual(["one", "You said: one", "two", "You said: two"]);
  expect(await page.getByRole("alert").count()).toBe(0);
});

test("a reply is shown as Markdown, without its HTML and scripts", async () => {
  const page = await open();
  await send(page, "**bold** <b>raw</b> [link](javascript:alert(1)) https://example.org");
  const reply = page.locator("article.agent");
  await expect.poll(() => reply.locator("strong").allInnerTexts()).toEqual(["bold"]);
  await expect
    .poll(() => reply.locator("a").evaluateAll((all) => all.map((link) => link.getAttribute("href"))))
    .toEqual(["", "https://example.org"]);
  expect(await reply.innerText()).toContain("<b>raw</b>");
});

test("a reply is generated again, and a message is edited", async () => {
  const page = await open();
  await send(page, "one");
  await expect.poll(() => texts(page)).toEqual(["one", "You said: one"]);
  await page.getByRole("button", { name: "Regenerate" }).click();
  await expect.poll(() => turnsOf(page)).toEqual(["completed", "completed"]);
  page.once("dialog", (dialog) => dialog.accept("uno"));
  await page.getByRole("button", { name: "Edit" }).click();
  await expect.poll(() => texts(page)).toEqual(["uno", "You said: uno"]);
  page.once("dialog", (dialog) => dialog.dismiss());
  await page.getByRole("button", { name: "Edit" }).click();
  await expect.poll(() => turnsOf(page)).toEqual(["completed", "completed", "completed"]);
});

test("a conversation without a key is opened from the list", async () => {
  const page = await open();
  await send(page, "Hello");
  await expect.poll(() => texts(page)).toHaveLength(2);
  const { token } = await page.evaluate(async () => (await fetch("/token", { method: "POST" })).json());
  const visitor = createClient({ url: example.service.url, getToken: () => token });
  const { id } = await visitor.conversations.create({ agentId: example.agentId, title: "Without a key" });
  await page.getByRole("link", { name: "Without a key" }).click();
  await expect.poll(() => page.url()).toMatch(new RegExp(`#/${id}$`));
  // The address changes before the page does.
  await expect.poll(() => texts(page)).toEqual([]);
  await send(page, "there");
  await expect.poll(() => texts(page)).toEqual(["there", "You said: there"]);
  await page.reload();
  await expect.poll(() => texts(page)).toEqual(["there", "You said: there"]);
});

test("a phone shows the conversations above the chat, without a scroll bar of the page", async () => {
  const page = await open(await browser.newContext({ viewport: { width: 360, height: 640 } }));
  await send(page, "words 30 1");
  await expect.poll(() => listed(page)).toEqual(["words 30 1"]);
  await page.getByRole("link", { name: "words 30 1" }).click();
  expect(await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight])).toEqual([360, 640]);
});

test("a photo is attached, shown before and while it is uploaded, and after a reload", async () => {
  const page = await open();
  const url = await page.evaluate(() => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [300, 200];
    const context = canvas.getContext("2d")!;
    for (const [index, colour] of ["#f0c06b", "#b3261e", "#1b6b3a"].entries()) {
      context.fillStyle = colour;
      context.fillRect(index * 100, 0, 100, 200);
    }
    return canvas.toDataURL("image/png");
  });
  const buffer = Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
  const widths = (within: string) =>
    page.locator(`${within} img`).evaluateAll((all) => all.map((one) => (one as HTMLImageElement).naturalWidth));
  await page.getByLabel("Files", { exact: true }).setInputFiles({ name: "photo.png", mimeType: "image/png", buffer });
  await expect.poll(() => widths("form")).toEqual([300]);
  await page.getByRole("button", { name: "Remove the files" }).click();
  await expect.poll(() => widths("form")).toEqual([]);
  // Files can be dropped anywhere, too.
  await page.evaluate(
    (bytes) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([new Uint8Array(bytes)], "photo.png", { type: "image/png" }));
      document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
    },
    [...buffer],
  );
  await expect.poll(() => widths("form")).toEqual([300]);
  await screenshot(page, "react-chat-preview");
  await send(page, "What is this?");
  await expect.poll(() => widths("article.user")).toEqual([300]);
  await expect.poll(async () => (await texts(page))[1]).toContain("What is this?");
  await expect.poll(() => widths("form")).toEqual([]);
  const sent = example.service.model.requests.at(-1)!.findLast(({ role }: { role: string }) => role === "user");
  expect(sent.content.map(({ type }: { type: string }) => type)).toContain("image_url");
  await page.reload();
  await expect.poll(() => widths("article.user")).toEqual([300]);
  expect(await page.locator("article.user img").getAttribute("alt")).toBe("photo.png");
  await screenshot(page, "react-chat-reloaded");
});

test("a page without tokens shows why", async () => {
  const page = await (await browser.newContext()).newPage();
  await page.route("**/token", (route) => route.fulfill({ status: 502 }));
  await page.goto(example.url);
  await expect.poll(() => page.getByRole("alert").innerText(), { timeout: 20_000 }).toBe("The backend cannot be reached.");
});

test("a page whose service or key is gone shows why", async () => {
  for (const [more, reason] of [
    [{ SERVICE: `http://127.0.0.1:${await freePort()}` }, "The service cannot be reached."],
    [{ KEY: "agk_wrong" }, "Check the key or token; it may be mistyped, revoked, or from another service."],
  ] as const) {
    const { url, stop } = await startPage({ ...example.env, ...more, PORT: String(await freePort()) });
    onTestFinished(() => void stop());
    const page = await (await browser.newContext()).newPage();
    await page.goto(url);
    await expect.poll(() => page.getByRole("alert").innerText(), { timeout: 20_000 }).toBe(reason);
  }
});

test("a page starts empty, and an address of the service may end with a slash", async () => {
  const port = await freePort();
  const { url, stop } = await startPage({ ...example.env, SERVICE: `${example.service.url}/`, PORT: String(port) });
  onTestFinished(() => void stop());
  expect((await fetch(`${url}/token`, { method: "POST" })).status).toBe(201);
  const page = await open();
  const hint = () => page.locator("section div").evaluate((one) => getComputedStyle(one, "::before").content);
  await expect.poll(hint).toBe('"Write the first message."');
  await send(page, "Hello");
  await expect.poll(() => texts(page)).toHaveLength(2);
  expect(await hint()).toBe("none");
});

test("a start says in one line what is missing", async () => {
  const { service, env } = example;
  const port = await freePort();
  const start = (more: Record<string, string>) =>
    spawnSync(process.execPath, ["check.mjs"], { cwd: folder, env: { ...env, PORT: String(port), ...more }, encoding: "utf8" });
  const own = `http://localhost:${port}`;
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const reasons: [Record<string, string>, string][] = [
    [{ KEY: "" }, "KEY is missing: KEY=<an API key> AGENT=<the id of an agent> npm start"],
    [{ AGENT: "" }, "AGENT is missing: KEY=<an API key> AGENT=<the id of an agent> npm start"],
    [{ KEY: "", AGENT: "" }, "KEY and AGENT are missing: "],
    [{ SERVICE: "127.0.0.1:8080" }, "SERVICE must begin with http:// or https://, unlike 127.0.0.1:8080"],
    [{ SERVICE: nobody }, `No service responds at ${nobody}: start it, or set SERVICE to its address.`],
    [{ SERVICE: new URL(example.url).origin }, `${example.url} is another server: set SERVICE to the address of the service.`],
    [{ KEY: "agk_…" }, "The service does not accept KEY: "],
    [
      { KEY: service.key("user-tokens:issue,chat:write") },
      "create a key that has conversations:read, conversations:write, events:read, too",
    ],
    [{ SERVICE: `${service.url}/` }, "The service does not allow the page: "],
    [{ AGENT: "01a1f9f5-…" }, "The service does not accept AGENT: "],
    [{ AGENT: crypto.randomUUID() }, "The service does not accept AGENT: "],
    [{}, `The service does not allow the page: start it with SERVER__ALLOWED_ORIGINS=${own}`],
    // The port of the page that runs.
    [{ PORT: env.PORT }, `Port ${env.PORT} cannot be used (EADDRINUSE): set PORT to another one.`],
  ];
  for (const [more, reason] of reasons) {
    const { status, stdout, stderr } = start(more);
    expect([status, stdout, stderr]).toEqual([1, "", expect.stringMatching(/^[^\n]+\n$/)]);
    expect(stderr).toContain(reason);
  }
  // `npm start` checks first.
  const { status, stderr } = spawnSync("npm", ["start"], { cwd: folder, env: { ...env, KEY: "" }, encoding: "utf8" });
  expect([status, stderr]).toEqual([1, start({ KEY: "" }).stderr]);
});

test("the page has at most 60 lines, and page and backend have at most 80 lines of code", () => {
  const [page, backend] = ["src/main.tsx", "server.mjs"].map((file) => readFileSync(join(folder, file), "utf8").trimEnd().split("\n")) as [
    string[],
    string[],
  ];
  const isCode = (line: string) => !/^\s*(\/\/|$)/.test(line);
  expect(page.length).toBeLessThanOrEqual(60);
  expect(readFileSync(join(folder, "src/files.tsx"), "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(60);
  expect(backend.length).toBeLessThanOrEqual(30);
  expect([...page, ...backend].filter(isCode).length).toBeLessThanOrEqual(80);
});
