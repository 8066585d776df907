// A page with `useChat` in Chromium against the service: `node pages.mjs BINARY [6|7] [FOLDER]`. With
// a folder, it writes screenshots.
import assert from "node:assert/strict";
import { join } from "node:path";
import { servePage, startBrowser } from "./browser.mjs";
import { runCases } from "./chat.mjs";
import { startService, until } from "./service.mjs";

const [binary, major = "7", shots] = process.argv.slice(2);
const site = await servePage({ file: "page.jsx" }, major);
const service = await startService(binary, { settings: { SERVER__ALLOWED_ORIGINS: site.origin } });
const { model, relay } = service;
const agent = await service.newAgent();
const key = service.key("chat:write,conversations:read");
const browser = await startBrowser();
let chats = 0;

const newPage = async (more = {}) => {
  const page = await browser.newPage();
  await page.setViewport({ width: 720, height: 560 });
  const id = `page-${(chats += 1)}`;
  const settings = new URLSearchParams({ service: relay.url, agent, key, chat: id, ...more });
  page.on("pageerror", (error) => console.log("page error:", error.message));
  await page.goto(`${site.origin}/?${settings}`);
  await page.waitForSelector("form");
  const texts = () => page.$$eval("article", (all) => all.map((it) => [...it.querySelectorAll("p, pre")].map((part) => part.textContent).join("|")));
  const status = () => page.$eval("output", (it) => it.textContent);
  const send = async (text) => {
    await page.type("input", text);
    await page.click(".send");
  };
  const shows = (text) => until(async () => (await texts()).some((it) => it.includes(text)), text);
  const is = (wanted) => until(async () => (await status()) === wanted, wanted);
  const shot = (name) => shots && page.screenshot({ path: join(shots, `ai${major}-${name}.png`) });
  const turns = async () => {
    const found = await service.api("GET", `/api/conversations?agentId=${agent}&key=${id}`);
    const path = `/api/conversations/${found.body.data[0].id}/turns`;
    return (await service.api("GET", path)).body.data.map((turn) => turn.status);
  };
  return { page, id, texts, status, send, shows, is, shot, turns };
};

const halves = "First half, second half.";
const passed = await runCases(model, {
  async "sends, streams and shows tools"() {
    const { send, shows, is, texts, shot } = await newPage();
    await send("words 30 20");
    await shows("word2 ");
    await is("streaming");
    await is("ready");
    await send("tool");
    await shows("That is it.");
    await is("ready");
    const [, , , reply] = await texts();
    assert.match(reply, /Let me see\. \|calculator\({"expression":"17 \* 24"}\) output-available: "408"\|\s*That is it\./);
    await shot("tools");
  },
  async "stops the turn"() {
    const { page, send, shows, is, texts, turns, shot } = await newPage();
    await send("hold");
    await shows("First half");
    await page.click(".stop");
    await is("ready");
    assert.deepEqual(await texts(), ["hold", "First half, "]);
    assert.deepEqual(await turns(), ["cancelled"]);
    await page.reload();
    await page.waitForSelector("article");
    assert.deepEqual(await texts(), ["hold", "First half, "]);
    await is("ready");
    await shot("stopped");
  },
  async "regenerates and edits"() {
    const { page, send, is, texts, turns } = await newPage();
    await send("one");
    await is("ready");
    await until(async () => (await texts()).length === 2);
    await page.click(".regenerate");
    await until(async () => (await turns()).length === 2);
    await until(async () => (await texts()).length === 2);
    await is("ready");
    page.once("dialog", (dialog) => dialog.accept("two"));
    await page.click(".edit");
    await until(async () => (await texts())[1] === "You said: two");
    await is("ready");
    await page.reload();
    await page.waitForSelector("article");
    assert.deepEqual(await texts(), ["two", "You said: two"]);
    assert.deepEqual(await turns(), ["completed", "completed", "completed"]);
  },
  async "goes on after a reload in the middle of a reply"() {
    const { page, send, shows, is, texts, turns, shot } = await newPage();
    await send("hold");
    await shows("First half");
    await page.reload();
    await shows("First half");
    await shot("reloaded");
    model.release();
    await shows(halves);
    await is("ready");
    assert.deepEqual(await texts(), ["hold", halves]);
    assert.deepEqual(await turns(), ["completed"]);
    await page.reload();
    await shows(halves);
    await is("ready");
    assert.deepEqual(await texts(), ["hold", halves]);
  },
  async "shows a cut as an error, and goes on"() {
    const { page, send, shows, is, texts, turns, shot } = await newPage(major === "6" ? { object: "" } : {});
    await send("hold");
    await shows("First half");
    relay.cut();
    await is("error");
    await shot("cut");
    await page.evaluate(() => void window.chat.resumeStream());
    await is("streaming");
    model.release();
    await shows(halves);
    await is("ready");
    assert.deepEqual(await texts(), ["hold", halves]);
    assert.deepEqual(await turns(), ["completed"]);
  },
  async "shows a failure, and answers again"() {
    const { page, send, is, shot, turns } = await newPage();
    await send("fail");
    await is("error");
    const alert = await page.$eval("[role=alert]", (it) => it.textContent);
    assert.match(alert, /^The reply engine failed\. .*\(engine_failed, request .*\)$/);
    await shot("failed");
    await page.click(".regenerate");
    await until(async () => (await turns()).length === 2);
    await is("error");
  },
});
await browser.close();
site.stop();
await service.stop();
console.log(JSON.stringify({ client: `useChat ${major}`, ...passed }));
