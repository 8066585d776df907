// Replies with Markdown: while they are written, and what they must not do.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Console, clipboardOf, inspect, see, startConsole } from "./console.js";

let app: Console;

beforeAll(async () => {
  app = await startConsole();
});
afterAll(async () => {
  // Nothing was requested from another host, and no script of a reply ran.
  expect(app.faults).toEqual([]);
  await app.stop();
});

const REPLY = `## Opening hours

We are **open every day**, see [the plan](https://example.org/plan) or https://example.org/map.
On *holidays* we are ~~open~~ closed.

1. \`mo\`: 9 to 18
2. \`tu\`: 10 to 18

| day | hours |
|:----|------:|
| mo  | 9     |

\`\`\`js
const open = 9; // **not bold**
const close = 18;
\`\`\`
`;

const HOSTILE = `![a map](https://example.org/map.png) ![](http://127.0.0.2/pixel.png)

<img src="https://example.org/x.png" onerror="document.title = 'taken'"> <script>document.title = "taken"</script>

[script](javascript:alert(1)) [data](data:text/html,x) [relative](./agents) <iframe src="https://example.org"></iframe>

<div style="position:fixed;inset:0">over everything</div>
`;

const openReply = async (message: string, key: string) => {
  const page = await app.open(`/chat/${await app.service.newAgent()}/${key}`);
  const reply = page.getByRole("article", { name: "Agent" }).locator(".bubble");
  await page.getByLabel("Message", { exact: true }).fill(message);
  return { page, reply, send: () => page.keyboard.press("Enter") };
};

it("formats a reply while it is written, without a trace of unfinished marks", async () => {
  const { page, reply, send } = await openReply(`write 3 15\n${REPLY}`, "written");
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(globalThis, { seen });
    new MutationObserver(() => {
      const bubble = document.querySelector<HTMLElement>("article.agent .bubble");
      if (bubble !== null) seen.push(bubble.innerText);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await send();
  await page.getByText("const close = 18;").waitFor();
  await page.getByRole("button", { name: "Regenerate the reply" }).waitFor();
  const seen = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
  expect(seen.length).toBeGreaterThan(20);
  const prose = seen.map((text) => text.split("const open")[0] ?? "");
  expect(prose.filter((text) => /\*\*|\]\(|~~|`|#/.test(text))).toEqual([]);

  expect(await reply.getByRole("heading").innerText()).toBe("Opening hours");
  expect(await reply.locator("strong").allInnerTexts()).toEqual(["open every day"]);
  expect(await reply.locator("em, del").allInnerTexts()).toEqual(["holidays", "open"]);
  expect(await reply.locator("ol > li").allInnerTexts()).toEqual(["mo: 9 to 18", "tu: 10 to 18"]);
  expect(await reply.getByRole("cell").allInnerTexts()).toEqual(["mo", "9"]);
  const links = await reply
    .getByRole("link")
    .evaluateAll((all) => all.map((link) => [link.getAttribute("href"), link.getAttribute("rel"), link.getAttribute("target")]));
  const others = ["noopener noreferrer nofollow", "_blank"];
  expect(links).toEqual([
    ["https://example.org/plan", ...others],
    ["https://example.org/map", ...others],
  ]);
  await reply.getByRole("button", { name: "Copy the code" }).click();
  await see(page, "Copied to the clipboard.");
  expect(await clipboardOf(page)).toBe("const open = 9; // **not bold**\nconst close = 18;");
  await inspect(page, "chat-markdown");
});

it("shows HTML as text, and loads no images", async () => {
  const { page, reply, send } = await openReply(`write 500 0\n${HOSTILE}`, "hostile");
  await send();
  await page.getByRole("button", { name: "Regenerate the reply" }).waitFor();
  expect(await reply.locator("img, script, iframe, div[style]").count()).toBe(0);
  expect(await reply.innerText()).toContain("<img src=");
  // An image is a link, and a link with another scheme is a text.
  expect(await reply.getByRole("link").evaluateAll((all) => all.map((link) => [link.textContent, link.getAttribute("href")]))).toEqual([
    ["a map", "https://example.org/map.png"],
    ["image", "http://127.0.0.2/pixel.png"],
  ]);
  expect(await page.title()).not.toBe("taken");
});

it("keeps the lines of a plain reply", async () => {
  const { page, reply, send } = await openReply("write 5 0\nFirst line\nsecond line\n\nAfter 5 * 3 * 2 = 30 and snake_case_name", "plain");
  await send();
  await page.getByRole("button", { name: "Regenerate the reply" }).waitFor();
  expect(await reply.innerText()).toMatch(/^First line\nsecond line\n+After 5 \* 3 \* 2 = 30 and snake_case_name$/);
});

it("shows a reply that is nested too deeply to be rendered as it is", async () => {
  const { page, reply, send } = await openReply(`write 1000 1\n${"- ".repeat(3000)}end`, "nested");
  await send();
  await expect.poll(() => reply.innerText(), { timeout: 20_000 }).toMatch(/^- - - .*end$/s);
  await page.getByLabel("Message", { exact: true }).waitFor();
  // React reports what was caught.
  expect(app.faults.splice(0).filter((fault) => !fault.includes("call stack"))).toEqual([]);
});
