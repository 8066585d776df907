// The examples of docs/protocols/ai-sdk.md, unchanged: `node documented.mjs BINARY DOCUMENT 6|7`.
import assert from "node:assert/strict";
import { WebSocket } from "ws";
import { servePage, startBrowser } from "../browser.mjs";
import { end, runCases, until } from "../cases.mjs";
import { PAGE_SETTINGS, readBlocks, runModule } from "../documents.mjs";
import { startService } from "../service.mjs";
import { hasReply, newChat, sdk, texts } from "./chat.mjs";
import { packagesOf } from "./versions.mjs";

const [, document, major = "7"] = process.argv.slice(2);
const block = readBlocks(document);
const site = await servePage({
  folder: import.meta.dirname,
  text: block("createRoot"),
  alias: packagesOf(major),
  modules: { "./settings.js": PAGE_SETTINGS },
});
const service = await startService({ SERVER__ALLOWED_ORIGINS: site.origin });
const agent = await service.newAgent();
const browser = await startBrowser();

// Opens the page with a credential.
const open = async (token, id = "") => {
  const page = await browser.newPage();
  page.setDefaultTimeout(20_000);
  const errors = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  await page.goto(`${site.origin}/?${new URLSearchParams({ service: service.url, agent, token })}#${id}`);
  const button = (name) => page.getByRole("button", { name });
  return {
    page,
    errors,
    stop: button("Stop"),
    regenerate: button("Regenerate"),
    shows: (wanted) => page.getByText(wanted, { exact: true }).waitFor(),
    texts: () => page.locator("p").allTextContents(),
    async send(message) {
      await page.fill("input", message);
      await page.press("input", "Enter");
    },
  };
};

// A chat over the documented WebSocket, with a credential.
const openSocket = async (id, token) => {
  globalThis.WebSocket ??= WebSocket;
  const settings = { service: service.url, agent, token: async () => token };
  const modules = { ai: sdk[major], "./settings.js": settings };
  const { transport } = await runModule(block("new WebSocketChatTransport"), modules, { names: ["transport"] });
  return { ...newChat(major, { id, transport }), transport };
};

const cases = {
  async "the page of the document stops and resumes"() {
    const { page, shows, send, stop, texts, regenerate } = await open(service.admin);
    await page.waitForSelector("input");
    assert.equal(await regenerate.count(), 0);
    await send("hold");
    await shows("First half,");
    await page.reload();
    await shows("First half,");
    await stop.click();
    await stop.waitFor({ state: "detached" });
    for (const isReloaded of [false, true]) {
      if (isReloaded) {
        await Promise.all([page.waitForResponse(/\/stream$/), page.reload()]);
        // The page stops reading at the part that ends the reply, so the request may never finish.
        await page.waitForTimeout(500);
      }
      await regenerate.waitFor();
      assert.deepEqual(await texts(), ["hold", "First half, (stopped)"]);
    }
    const id = new URL(page.url()).hash.slice(1);
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(await service.turns(agent, id), ["cancelled"]);
  },
  async "the page of the document answers, and answers again"() {
    const { send, shows, regenerate } = await open(service.admin, "again");
    await send("Hello");
    await shows("You said: Hello");
    await regenerate.click();
    await until(async () => (await service.turns(agent, "again")).join() === "completed,completed", "two turns");
    await shows("You said: Hello");
  },
  async "the page of the document edits a message"() {
    const { page, send, shows, texts } = await open(service.admin, "edited");
    await send("Hello");
    await shows("You said: Hello");
    page.once("dialog", (dialog) => dialog.accept("Servus"));
    await page.getByRole("button", { name: "Edit" }).click();
    await shows("You said: Servus");
    assert.deepEqual(await texts(), ["Servus", "You said: Servus"]);
  },
  async "the page of the document reports that its token is not sufficient"() {
    const { errors } = await open(service.key("chat:write"), "refused");
    await until(() => errors.length > 0, "an error");
    assert.match(errors[0], /conversations:read.*insufficient_scope/);
  },
  async "the program of the document"() {
    const lines = [];
    const process = { env: { URL: service.url, AGENT: agent, KEY: service.admin } };
    const globals = { process, console: { log: (line) => lines.push(line) } };
    await runModule(block("process.env.KEY"), { ai: sdk[major] }, { globals });
    assert.equal(lines.at(-1).at(-1).text, "You said: Hello");
  },
  async "the transport of the document"() {
    if (major === "6") return;
    const { chat, transport } = await openSocket("documented-socket", service.admin);
    await chat.sendMessage({ text: "Hello" });
    await until(() => hasReply(chat));
    assert.deepEqual(texts(chat.messages), ["user: Hello", "assistant: You said: Hello"]);
    // Larger than a frame.
    const photo = Buffer.concat([Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), Buffer.alloc(100_000, 1)]);
    const url = `data:image/png;base64,${photo.toString("base64")}`;
    await chat.sendMessage({ text: "look", files: [{ type: "file", mediaType: "image/png", filename: "päckchen.png", url }] });
    assert.equal(texts(chat.messages).at(-1), `assistant: I see image/png of ${photo.length} bytes`);
    const sent = (await service.stored(agent, "documented-socket")).messages.at(-2);
    assert.deepEqual(sent.files.map(({ name, bytes }) => [name, bytes]), [["päckchen.png", photo.length]]);
    transport.close();
    const refused = await openSocket("refused-socket", service.key("chat:write"));
    await refused.chat.sendMessage({ text: "Hello" });
    assert.match(refused.chat.error.message, /events:read/);
  },
};
const passed = await runCases(cases, service.model.release);
await browser.close();
site.stop();
await service.stop();
end(passed);
