// The examples of docs/protocols.md, unchanged: `node documented.mjs BINARY DOCUMENT [6|7]`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { WebSocket } from "ws";
import { servePage, startBrowser } from "./browser.mjs";
import { hasReply, newChat, runCases, sdk, texts } from "./chat.mjs";
import { startService, until } from "./service.mjs";

const [binary, document, major = "7"] = process.argv.slice(2);
const section = readFileSync(document, "utf8").split("## AI SDK")[1].split("\n## ")[0];
const block = (heading) => section.split(`### ${heading}`)[1].split(/```jsx?\n/)[1].split("```")[0];

// The page learns its settings from its address.
const page = `const { URL, AGENT, TOKEN, ID } = Object.fromEntries(new globalThis.URLSearchParams(location.search));
import { createRoot } from "react-dom/client";
${block("React")}
createRoot(document.getElementById("root")).render(<Chat id={ID} initial={await load(ID)} />);`;
const site = await servePage({ text: page }, major);
const service = await startService(binary, { settings: { SERVER__ALLOWED_ORIGINS: site.origin } });
const agent = await service.newAgent();
const browser = await startBrowser();

// Runs a block as a module with these names.
const run = (source, names) => {
  const body = source.replaceAll(/^import (.*) from "(.*)";$/gm, `const $1 = await load("$2");`);
  const AsyncFunction = (async () => {}).constructor;
  const all = { load: () => sdk[major], ...names };
  return new AsyncFunction(...Object.keys(all), `${body}\nreturn typeof transport === "undefined" ? null : transport;`)(...Object.values(all));
};

const cases = {
  async "the page of the document"() {
    const opened = await browser.newPage();
    const settings = { URL: service.url, AGENT: agent, TOKEN: service.admin, ID: "documented" };
    await opened.goto(`${site.origin}/?${new URLSearchParams(settings)}`);
    const shown = () => opened.$$eval("p", (all) => all.map((it) => it.textContent));
    await opened.waitForSelector("input");
    await opened.type("input", "hold");
    await opened.keyboard.press("Enter");
    await until(async () => (await shown()).includes("First half, "));
    await opened.reload();
    await until(async () => (await shown()).includes("First half, "));
    const stop = await until(() => opened.$("button ::-p-text(Stop)"));
    await stop.click();
    await until(async () => (await opened.$("button ::-p-text(Stop)")) === null);
    assert.deepEqual(await shown(), ["hold", "First half, "]);
    await opened.type("input", "Hello");
    await opened.keyboard.press("Enter");
    await until(async () => (await shown()).includes("You said: Hello"));
  },
  async "the program of the document"() {
    const lines = [];
    const process = { env: { URL: service.url, AGENT: agent, KEY: service.admin } };
    await run(block("Node.js"), { process, console: { log: (line) => lines.push(line) } });
    assert.equal(lines.at(-1).at(-1).text, "You said: Hello");
  },
  async "the transport of the document"() {
    if (major === "6") return;
    globalThis.WebSocket ??= WebSocket;
    const headers = { authorization: `Bearer ${service.admin}` };
    const transport = await run(block("WebSocket"), { URL: service.url, AGENT: agent, headers });
    const { chat } = newChat(major, { id: "documented-socket", transport });
    await chat.sendMessage({ text: "Hello" });
    await until(() => hasReply(chat));
    assert.deepEqual(texts(chat.messages), ["user: Hello", "assistant: You said: Hello"]);
    transport.close();
  },
};
const passed = await runCases(service.model, cases);
await browser.close();
site.stop();
await service.stop();
console.log(JSON.stringify({ client: `documented examples, ai ${major}`, ...passed }));
