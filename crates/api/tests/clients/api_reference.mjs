// The API reference in Chromium: opens a list and a chat, and sends the chat.
// Reads `{"url", "key", "body"}`, and prints the optional parameters that have a value before the
// reader entered one, and the headers, status and body of the chat.
import { text } from "node:stream/consumers";
import { startBrowser } from "./browser.mjs";

const { url, key, body } = JSON.parse(await text(process.stdin));
const browser = await startBrowser();
const page = await browser.newPage();
await page.goto(url);
await page.locator(".btn.authorize").click();
await page.locator(".auth-container input").first().fill(key);
await page.locator(".auth-container .authorize").first().click();
await page.locator(".btn-done").first().click();

const openOperation = async (id) => {
  const operation = page.locator(`[id="${id}"]`);
  await operation.locator(".opblock-summary-control").click();
  await operation.locator(".try-out__btn").click();
  return operation;
};

// Returns the names of optional parameters with a value.
const filled = (operation) =>
  operation.locator("tr[data-param-name]").evaluateAll((rows) =>
    rows
      .filter((row) => row.querySelector(".required") === null)
      .filter((row) => [...row.querySelectorAll("input, select, textarea")].some(({ value }) => value !== ""))
      .map((row) => row.dataset.paramName),
  );

const agents = await openOperation("operations-Agents-list_agents");
const chat = await openOperation("operations-Chat-chat");
const prefilled = [...(await filled(agents)), ...(await filled(chat))];
await chat.locator(".body-param__text").fill(body);
await chat.locator(".execute").click();
const response = chat.locator(".live-responses-table");
await response.waitFor();
const command = await chat.locator(".curl-command").innerText();
const headers = [...command.matchAll(/-H '([^:]*):/g)].map(([, name]) => name).sort();
const status = (await response.locator(".response-col_status").last().innerText()).trim();
console.log(JSON.stringify({ prefilled, headers, status, body: await response.locator(".highlight-code, .microlight").first().innerText() }));
await browser.close();
