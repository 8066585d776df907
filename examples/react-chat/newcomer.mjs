// Sends a message in the page, and waits until its reply has grown to its end. Uses the browser of the
// client's tests.
import { createRequire } from "node:module";

const require = createRequire(new URL("../../clients/typescript/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const [, , url] = process.argv;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage();
await page.goto(url);
await page.getByLabel("Message").fill(process.env.MESSAGE ?? "words 40 25");
await page.getByRole("button", { name: "Send" }).click();
const reply = page.locator("article.agent");
const lengths = new Set();
while ((await page.locator("article.agent.complete").count()) === 0) {
  lengths.add((await reply.textContent({ timeout: 30_000 })).length);
  await page.waitForTimeout(20);
}
await browser.close();
console.log(`The reply had ${lengths.size} lengths.`);
if (lengths.size < 3) throw new Error("The reply did not grow.");
