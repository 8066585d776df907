import { execSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import { createClient } from "../src/index.js";
import { send, startDesk } from "./example.js";

let example: Awaited<ReturnType<typeof startDesk>>;
let browser: Browser;

beforeAll(async () => {
  example = await startDesk();
  browser = await startBrowser();
});
afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));
afterAll(async () => {
  await browser?.close();
  await example?.stop();
});

const texts = async (page: Page) => (await page.locator("li").allInnerTexts()).map((text) => text.replace("\n", ": "));
const status = (page: Page) => page.getByRole("status").innerText();
const button = (page: Page, name: string): Locator => page.getByRole("button", { name });
const links = (page: Page) => page.locator("nav a").allInnerTexts();

const isTyping = async (page: Page) => (await page.getByText("Typing…").count()) > 0;

/** Types a message, until another page shows that somebody types. */
const type = async (page: Page, text: string, reader: Page): Promise<void> => {
  await page.getByLabel("Message").focus();
  await page.keyboard.type(text);
  // A page that was just loaded may have no socket yet; nothing is repeated within a few seconds.
  await expect
    .poll(async () => {
      await page.keyboard.press("Space");
      await page.keyboard.press("Backspace");
      return isTyping(reader);
    })
    .toBe(true);
};

/** Claims a conversation as both members at the same time. Returns the one who gets it, and the other. */
const claimAtOnce = async (members: [Page, Page]): Promise<[winner: Page, loser: Page]> => {
  let sent = 0;
  let release = () => {};
  const bothSent = new Promise<void>((resolve) => (release = resolve));
  const statuses = members.map(async (member) => {
    await member.route("**/api/conversations/*", async (route) => {
      if (route.request().method() !== "PATCH") return route.fallback();
      sent += 1;
      if (sent === 2) release();
      await bothSent;
      return route.continue();
    });
    const response = member.waitForResponse((received) => received.request().method() === "PATCH");
    await button(member, "Claim").click();
    return (await response).status();
  });
  const [first, second] = await Promise.all(statuses);
  expect([first, second].sort()).toEqual([200, 412]);
  for (const member of members) await member.unrouteAll();
  return first === 200 ? members : [members[1], members[0]];
};

describe.each([
  ["a desktop", { width: 1280, height: 800 }],
  ["a phone", { width: 390, height: 844 }],
])("on %s", (device, viewport) => {
  const open = async (path: string, username?: string): Promise<Page> => {
    const httpCredentials = username ? { username, password: example.password } : undefined;
    const page = await (await browser.newContext({ viewport, ...(httpCredentials && { httpCredentials }) })).newPage();
    page.on("pageerror", (error) => expect.unreachable(error.message));
    await page.goto(example.url + path);
    return page;
  };
  let pictures = 0;
  /** Keeps a picture of the pages side by side in the folder SCREENSHOTS, if there is one, and checks that none is wider than its window. */
  const picture = async (name: string, pages: Record<string, Page>): Promise<void> => {
    pictures += 1;
    const { SCREENSHOTS } = process.env;
    const shown: string[] = [];
    for (const [who, page] of Object.entries(pages)) {
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width);
      if (SCREENSHOTS === undefined) continue;
      const data = (await page.screenshot()).toString("base64");
      shown.push(`<figure><figcaption>${who}</figcaption><img src="data:image/png;base64,${data}"></figure>`);
    }
    if (SCREENSHOTS === undefined) return;
    const sheet = await browser.newPage({ viewport: { width: shown.length * (viewport.width + 20), height: viewport.height + 50 } });
    const style =
      "body { display: flex; margin: 0; background: #ccc } figure { margin: 10px; font: 20px/30px sans-serif } img { display: block }";
    await sheet.setContent(`<style>${style}</style>${shown.join("")}`);
    mkdirSync(SCREENSHOTS, { recursive: true });
    const file = `${device.slice(2)}-${String(pictures).padStart(2, "0")}-${name}.png`;
    await sheet.screenshot({ path: join(SCREENSHOTS, file) });
    await sheet.close();
  };

  test("a visitor is handed over to one of two members, is answered, and is handed back", async () => {
    const visitor = await open("/");
    const mia = await open("/desk", "Mia");
    const tom = await open("/desk", "Tom");
    const nameOf = (member: Page) => (member === mia ? "Mia" : "Tom");
    const begun = ["Agent: Hello! Ask me when we are open, or talk to a person."];
    await expect.poll(() => texts(visitor)).toEqual(begun);
    await send(visitor, "When do you open?");
    const asked = [...begun, "User: When do you open?", "Agent: We are open from 9 to 18, except on Sundays."];
    await expect.poll(() => texts(visitor)).toEqual(asked);
    await visitor.reload();
    await expect.poll(() => texts(visitor)).toEqual(asked);
    await picture("asked", { Visitor: visitor, "Desk of Mia": mia });

    await button(visitor, "Talk to a person").click();
    await expect.poll(() => status(visitor)).toBe("A colleague will answer here.");
    for (const member of [mia, tom]) {
      await expect.poll(() => links(member)).toHaveLength(1);
      await member.getByRole("link").focus();
      await member.keyboard.press("Enter");
      await expect.poll(() => texts(member)).toEqual(asked);
    }
    await picture("waiting", { Visitor: visitor, "Desk of Mia": mia, "Desk of Tom": tom });

    const [winner, loser] = await claimAtOnce([mia, tom]);
    await expect.poll(() => status(loser)).toBe(`${nameOf(winner)} has taken it.`);
    expect(await loser.getByLabel("Message").count()).toBe(0);
    const desks = { [`Desk of ${nameOf(winner)}`]: winner, [`Desk of ${nameOf(loser)}`]: loser };
    await picture("taken", { Visitor: visitor, ...desks });

    await type(visitor, "My parcel is late.", winner);
    await picture("visitor-types", { Visitor: visitor, ...desks });
    // Without a reply of the agent.
    await visitor.keyboard.press("Enter");
    const waiting = [...asked, "User: My parcel is late."];
    await expect.poll(() => texts(winner)).toEqual(waiting);
    await expect.poll(() => isTyping(winner)).toBe(false);
    for (const page of [winner, visitor]) {
      await page.reload();
      await expect.poll(() => texts(page)).toEqual(waiting);
    }
    await picture("reloaded", { Visitor: visitor, ...desks });
    await type(winner, "It arrives tomorrow.", visitor);
    await picture("staff-types", { Visitor: visitor, ...desks });
    await winner.keyboard.press("Enter");
    const answered = [...waiting, `${nameOf(winner)}: It arrives tomorrow.`];
    for (const page of [visitor, winner]) await expect.poll(() => texts(page)).toEqual(answered);
    expect(await winner.getByLabel("Message").inputValue()).toBe("");
    await expect.poll(() => isTyping(visitor)).toBe(false);
    await visitor.reload();
    await expect.poll(() => texts(visitor)).toEqual(answered);
    await expect.poll(() => status(visitor)).toBe("A colleague will answer here.");
    // It waits no longer, and belongs to the member who has taken it.
    await expect.poll(() => links(loser)).toEqual([]);
    expect(await links(winner)).toHaveLength(1);
    await picture("answered", { Visitor: visitor, ...desks });

    await winner.getByLabel("Message").focus();
    await winner.keyboard.press("Shift+Tab");
    await winner.keyboard.press("Enter");
    await expect.poll(() => links(winner)).toEqual([]);
    await button(visitor, "Talk to a person").waitFor();
    await send(visitor, "When do you open?");
    await expect.poll(() => texts(visitor)).toEqual([...answered, ...asked.slice(1)]);
    await picture("handed-back", { Visitor: visitor, ...desks });
  });

  test("visitor and desk send files, and show them, also after a reload", async () => {
    const visitor = await open("/");
    const mia = await open("/desk", "Mia");
    await button(visitor, "Talk to a person").click();
    await mia.locator("nav a").click();
    await button(mia, "Claim").click();
    const buffer = await visitor.screenshot();
    const attach = (page: Page, name: string) => page.getByLabel("Files").setInputFiles({ name, mimeType: "image/png", buffer });
    /** The names and addresses of the images that are loaded. */
    const images = (page: Page) =>
      page
        .locator("li img")
        .evaluateAll((all) =>
          (all as HTMLImageElement[]).filter(({ naturalWidth }) => naturalWidth > 0).map(({ alt, src }) => `${alt} ${src}`),
        );
    // What was not sent can be sent again.
    let isRejected = true;
    const full = { type: "", title: "Files cannot be stored.", status: 409, code: "file_in_use", retryable: false };
    await visitor.route("**/api/files", (route) =>
      isRejected ? route.fulfill({ status: 409, contentType: "application/problem+json", body: JSON.stringify(full) }) : route.fallback(),
    );
    await attach(visitor, "parcel.png");
    await button(visitor, "Send").click();
    await visitor.getByRole("alert").getByText("Files cannot be stored.").waitFor();
    isRejected = false;
    await button(visitor, "Try again").click();
    const parcel = expect.stringMatching(/^parcel\.png http.*\/content\?link=/);
    await expect.poll(() => images(visitor)).toEqual([expect.stringMatching(/^parcel\.png (blob:|http)/)]);
    await expect.poll(() => images(mia)).toEqual([parcel]);
    // A message needs a text or a file: the next one has neither.
    await button(visitor, "Send").click();
    const map = { name: "map.png", mimeType: "image/png", buffer };
    await mia.getByLabel("Files").setInputFiles([map, { name: "page.html", mimeType: "text/html", buffer: Buffer.from("<html>") }]);
    await send(mia, "It is here.");
    expect(await mia.getByRole("alert").innerText()).toMatch(/^page\.html: /);
    // Text and files are kept.
    const chosen = mia.getByLabel("Files").evaluate((field) => [...(field as HTMLInputElement).files!].map(({ name }) => name));
    expect(await chosen).toEqual(["map.png", "page.html"]);
    expect(await mia.getByLabel("Message").inputValue()).toBe("It is here.");
    await attach(mia, "map.png");
    await button(mia, "Send").click();
    const both = [parcel, expect.stringMatching(/^map\.png http.*\/content\?link=/)];
    for (const page of [visitor, mia]) {
      await expect.poll(async () => (await images(page)).length).toBe(2);
      await page.reload();
      await expect.poll(() => images(page)).toEqual(both);
      expect(await page.locator("li").count()).toBe(3);
    }
    await picture("files", { Visitor: visitor, "Desk of Mia": mia });
    await button(mia, "Hand back").click();
    await expect.poll(() => links(mia)).toEqual([]);
  });

  test("a visitor asks for a person before the first message, and a reply that fails keeps its text", async () => {
    const visitor = await open("/");
    const mia = await open("/desk", "Mia");
    await button(visitor, "Talk to a person").click();
    await expect.poll(() => status(visitor)).toBe("A colleague will answer here.");
    await mia.getByRole("link").click();
    await button(mia, "Claim").click();
    // The field has the focus.
    await expect.poll(() => mia.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("text");
    const problem = {
      type: "",
      title: "The conversation is gone.",
      status: 404,
      code: "conversation_not_found",
      detail: "",
      retryable: false,
    };
    const rejected = { status: 404, contentType: "application/problem+json", body: JSON.stringify(problem) };
    await mia.route("**/messages", (route) => (route.request().method() === "POST" ? route.fulfill(rejected) : route.fallback()));
    await mia.keyboard.type("Hello");
    await mia.keyboard.press("Enter");
    await expect.poll(() => mia.getByRole("alert").innerText()).toBe(problem.title);
    expect(await mia.getByLabel("Message").inputValue()).toBe("Hello");
    await picture("failed", { Visitor: visitor, "Desk of Mia": mia });
    await mia.unrouteAll();
    await mia.getByLabel("Message").press("Enter");
    await expect.poll(async () => (await texts(visitor)).at(-1)).toBe("Mia: Hello");
    await button(mia, "Hand back").click();
    await expect.poll(() => links(mia)).toEqual([]);
  });
});

test("a visitor's token reaches its conversations with one agent, and that of the desk needs the password", async () => {
  const issue = async (path: string, credentials?: string) => {
    const headers = credentials ? { Authorization: `Basic ${btoa(credentials)}` } : {};
    return (await fetch(`${example.url}/token/${path}`, { method: "POST", headers })).json();
  };
  const principalOf = ({ token }: { token: string }) => createClient({ url: example.service.url, getToken: () => token }).principal.get();
  const [visitor, desk] = [await issue(""), await issue("desk", `Mia:${example.password}`)];
  expect(await principalOf(visitor)).toMatchObject({ id: `user:${(await principalOf(visitor)).userId}`, agentIds: [example.agentId] });
  expect(await principalOf(desk)).toMatchObject({ id: expect.stringMatching(/^client:/), agentIds: [example.agentId] });
  expect(desk.name).toBe("Mia");
  for (const credentials of [undefined, "Mia:", "Mia:another", "Mia"]) expect(await issue("desk", credentials)).toEqual({});
});

test("pages and backend have at most 60 lines", () => {
  const count = "cat vite.config.mjs src/main.tsx | grep -cv '^$'";
  expect(Number(execSync(count, { cwd: example.folder, encoding: "utf8" }))).toBeLessThanOrEqual(60);
});
