// Records the picture of the README: a reply grows in the page of examples/react-chat, and beside it in
// the console. Needs Chromium, and `img2webp` of Debian's package `webp`.
//
//   SERVICE_BINARY=../../target/debug/agent-service npm run record
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";
import { startService } from "../../../crates/api/tests/clients/service.mjs";

const QUESTION = "What do two tickets cost with 15 % off?";
const ANSWER = "Two tickets at 12.50 are 25.00. With 15 % off you pay 21.25, for members and their guests, on every day of the week.";
const OUTPUT = join(import.meta.dirname, "../../../docs/images/chat-and-console.webp");
const EXAMPLE = join(import.meta.dirname, "../../../examples/react-chat");
const PORT = 5199;
const SCOPES = "user-tokens:issue,agents:read,agents:write,chat:write,conversations:read,conversations:write,events:read";

/** A model that calls the calculator, and then writes one word for each call of `next`. */
const startModel = async () => {
  let proceed = () => {};
  const server = createServer(async (request, response) => {
    const hasResult = JSON.parse(await text(request)).messages.at(-1).role === "tool";
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (choice) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
    const call = {
      index: 0,
      id: "call",
      type: "function",
      function: { name: "calculator", arguments: '{"expression":"2 * 12.5 * 0.85"}' },
    };
    if (!hasResult) send({ delta: { tool_calls: [call] } });
    for (const word of hasResult ? ANSWER.match(/\S+\s*/g) : []) {
      await new Promise((go) => (proceed = go));
      send({ delta: { content: word } });
    }
    send({ delta: {}, finish_reason: hasResult ? "stop" : "tool_calls" });
    response.end("data: [DONE]\n\n");
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, next: () => proceed() };
};

/** Starts the page with its backend. */
const startExample = async (env) => {
  const example = spawn(process.execPath, ["server.mjs"], {
    cwd: EXAMPLE,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => example.kill());
  await new Promise((ready) => createInterface({ input: example.stdout }).on("line", (line) => line.startsWith("http:") && ready()));
  return example;
};

const settled = (page) => page.waitForTimeout(120);
const folder = mkdtempSync(join(tmpdir(), "record-"));
const model = await startModel();
const service = await startService({ LLM__BASE_URL: model.url, SERVER__ALLOWED_ORIGINS: `http://localhost:${PORT}` });
const agent = { name: "Ada", personality: "A patient clerk of a museum.", capabilities: ["calculator"], config: { engine: "llm" } };
const { id } = (await service.call("POST", "/api/agents", agent)).body;
const key = service.key(SCOPES);
await startExample({ KEY: key, AGENT: id, SERVICE: service.url, PORT: String(PORT) });
const executablePath = execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--headless=new", "--disable-dev-shm-usage"] });

const context = await browser.newContext({ colorScheme: "light", deviceScaleFactor: 1.5, viewport: { width: 380, height: 420 } });
const chat = await context.newPage();
await chat.goto(`http://localhost:${PORT}`);
const consoleContext = await browser.newContext({ colorScheme: "light", deviceScaleFactor: 1.5, viewport: { width: 860, height: 560 } });
const desk = await consoleContext.newPage();
await desk.goto(`${service.url}/console/conversations`);
await desk.getByLabel("API key or access token").fill(key);
await desk.getByRole("button", { name: "Sign in" }).click();
const sheet = await (await browser.newContext({ deviceScaleFactor: 1.5, viewport: { width: 1052, height: 440 } })).newPage();

let count = 0;
/** Photographs both pages side by side. */
const shoot = async () => {
  await desk.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await settled(desk);
  const pictures = await Promise.all([chat, desk].map(async (page) => (await page.screenshot()).toString("base64")));
  const [left, right] = pictures.map((data) => `<img src="data:image/png;base64,${data}" height="420">`);
  await sheet.setContent(
    `<style>body{margin:0;padding:8px;display:flex;gap:8px;background:#fff}img{border:1px solid #bbb;border-radius:8px}</style>${left}${right}`,
  );
  const path = join(folder, `${String(count++).padStart(3, "0")}.png`);
  writeFileSync(path, await sheet.screenshot());
  return path;
};

await chat.getByLabel("Message").fill(QUESTION);
const frames = [["900", await shoot()]];
await chat.getByRole("button", { name: "Send" }).click();
await desk.getByRole("link", { name: QUESTION }).click();
await desk.getByText("calculator").first().waitFor();
frames.push(["700", await shoot()]);
for (const _word of ANSWER.split(" ")) {
  model.next();
  frames.push(["140", await shoot()]);
}
await chat.getByRole("button", { name: "Regenerate" }).waitFor();
// The console has read the stored reply.
await desk.getByText("The agent is writing…").waitFor({ state: "hidden" });
await desk.locator("article.agent .message-foot").waitFor();
frames.push(["4000", await shoot()]);
execFileSync("img2webp", ["-loop", "0", "-lossless", "-m", "6", ...frames.flatMap(([pause, path]) => ["-d", pause, path]), "-o", OUTPUT]);

rmSync(folder, { recursive: true });
await browser.close();
await service.stop();
process.exit();
