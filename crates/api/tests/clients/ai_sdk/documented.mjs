// The examples of docs/protocols/ai-sdk.md, unchanged: `node documented.mjs BINARY DOCUMENT 6|7`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { WebSocket } from "ws";
import { servePage, startBrowser } from "../browser.mjs";
import { end, runCases, until } from "../cases.mjs";
import { startService } from "../service.mjs";
import { hasReply, newChat, sdk, texts } from "./chat.mjs";
import { packagesOf } from "./versions.mjs";

const [, document, major = "7"] = process.argv.slice(2);
const text = readFileSync(document, "utf8");
const block = (heading) => text.split(`\n## ${heading}`)[1].split(/```jsx?\n/)[1].split("```")[0];

// The page learns its settings from its address.
const page = `const { URL, AGENT, TOKEN, ID } = Object.fromEntries(new globalThis.URLSearchParams(location.search));
import { createRoot } from "react-dom/client";
${block("React")}
createRoot(document.getElementById("root")).render(<Chat id={ID} initial={await load(ID)} />);`;
const site = await servePage({ folder: import.meta.dirname, text: page, alias: packagesOf(major) });
const service = await startService({ SERVER__ALLOWED_ORIGINS: site.origin });
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
    opened.setDefaultTimeout(20_000);
    const settings = { URL: service.url, AGENT: agent, TOKEN: service.admin, ID: "documented" };
    await opened.goto(`${site.origin}/?${new URLSearchParams(settings)}`);
    const shows = (wanted) => opened.getByText(wanted, { exact: true }).waitFor();
    const send = async (message) => {
      await opened.fill("input", message);
      await opened.press("input", "Enter");
    };
    const stop = opened.getByRole("button", { name: "Stop" });
    await send("hold");
    await shows("First half,");
    await opened.reload();
    await shows("First half,");
    await stop.click();
    await stop.waitFor({ state: "detached" });
    assert.deepEqual(await opened.locator("p").allTextContents(), ["hold", "First half, "]);
    await send("Hello");
    await shows("You said: Hello");
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
const passed = await runCases(cases, service.model.release);
await browser.close();
site.stop();
await service.stop();
end(passed);
