// assistant-ui in Chromium against the service: `node assistant_ui.mjs BINARY [FOLDER]`.
import assert from "node:assert/strict";
import { join } from "node:path";
import { servePage, startBrowser } from "./browser.mjs";
import { runCases } from "./chat.mjs";
import { startService, until } from "./service.mjs";

const [binary, shots] = process.argv.slice(2);
const site = await servePage({ file: "assistant_ui.jsx" }, "7");
const service = await startService(binary, { settings: { SERVER__ALLOWED_ORIGINS: site.origin } });
const agent = await service.newAgent();
const browser = await startBrowser();
const page = await browser.newPage();
page.on("pageerror", (error) => console.log("page error:", error.message));
await page.setViewport({ width: 720, height: 560 });
await page.goto(`${site.origin}/?${new URLSearchParams({ service: service.url, agent, key: service.admin })}`);
await page.waitForSelector("textarea");
const texts = () => page.$$eval("article", (all) => all.map((it) => [...it.querySelectorAll("p, pre")].map((part) => part.textContent).join("|")));
const send = async (text) => {
  await page.type("textarea", text);
  await page.click(".send");
};
const last = (wanted) => until(async () => (await texts()).at(-1) === wanted, wanted);
const turns = async () => {
  const conversations = (await service.api("GET", `/api/conversations?agentId=${agent}`)).body.data;
  assert.equal(conversations.length, 1);
  return (await service.api("GET", `/api/conversations/${conversations[0].id}/turns`)).body.data.map((turn) => turn.status);
};
const passed = await runCases(service.model, {
  async "sends, streams and shows tools"() {
    await send("words 20 10");
    await until(async () => /word20/.test((await texts()).at(-1)));
    await send("tool");
    await last('Let me see. |calculator({"expression":"17 * 24"}): "408"|That is it.');
    if (shots) await page.screenshot({ path: join(shots, "assistant-ui-tools.png") });
  },
  async "regenerates"() {
    const buttons = await page.$$(".reload");
    await buttons.at(-1).click();
    await until(async () => (await turns()).length === 3);
    await last('Let me see. |calculator({"expression":"17 * 24"}): "408"|That is it.');
  },
  async "stops the turn"() {
    await send("hold");
    await last("First half, ");
    await page.click(".stop");
    await until(async () => (await turns()).at(-1) === "cancelled");
    assert.equal((await texts()).at(-1), "First half, ");
    if (shots) await page.screenshot({ path: join(shots, "assistant-ui-stopped.png") });
    await send("Hello");
    await last("You said: Hello");
  },
});
await browser.close();
site.stop();
await service.stop();
console.log(JSON.stringify({ client: "assistant-ui", ...passed }));
