// Runs the page of the README, and the script for sockets of docs/real-time.md, unchanged.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import { readBlocks, runModule } from "../../../crates/api/tests/clients/documents.mjs";
import { freePort } from "./free-port.js";
import { type Service, startService } from "./service.js";
import { createClient } from "../src/index.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
let browser: Browser;
let service: Service;
let agentId: string;
let port: number;

beforeAll(async () => {
  port = await freePort();
  service = await startService({ SERVER__ALLOWED_ORIGINS: `http://localhost:${port}` });
  agentId = await service.newAgent();
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

test("the page of the README shows a reply", async () => {
  const issuer = createClient({ url: service.url, apiKey: service.key("user-tokens:issue,chat:write") });
  const { token } = await issuer.userTokens.create({ userId: "grace" });
  const page = readFileSync(`${root}README.md`, "utf8").split("```html\n")[1]!.split("```")[0]!;
  const filled = page
    .replace("eyJ…", token)
    .replace("http://127.0.0.1:8080", service.url)
    .replace("01a1f9f5-e05d-732b-85dd-7c941357da9e", agentId);
  const server = createServer(({ url = "" }, response) => {
    const isPage = url === "/page.html";
    if (!isPage && !/^\/typescript\/dist\/[\w/-]+\.js$/.test(url)) return response.writeHead(404).end();
    response.setHeader("Content-Type", isPage ? "text/html; charset=utf-8" : "text/javascript");
    return response.end(isPage ? filled : readFileSync(`${root}clients${url}`));
  }).listen(port, "localhost");
  const tab = await browser.newPage();
  await tab.goto(`http://localhost:${port}/page.html`);
  await expect.poll(() => tab.locator("#reply").innerText()).toBe("You said: When do you open?");
  server.closeAllConnections();
  server.close();
});

test("the script for sockets prints the frames of a turn", async () => {
  const script = readBlocks(new URL("../../../docs/real-time.md", import.meta.url))("// talk.js");
  const { talk } = await runModule(script, {}, { names: ["talk"] as never[], globals: { WebSocket } });
  const frames: string[] = [];
  talk(service.url, service.admin, agentId, "hold", (frame: { type: string; id?: number; event?: { type: string } }) => {
    frames.push(frame.event?.type ?? (frame.type === "reply" ? `reply ${frame.id}` : frame.type));
  });
  await expect.poll(() => frames).toContain("reply.delta");
  service.model.release();
  await expect.poll(() => frames.at(-1)).toBe("turn.completed");
  expect(frames.filter((frame, index) => frame !== frames[index - 1])).toEqual([
    "reply 1",
    "reply 2",
    "conversation.created",
    "turn.started",
    "reply.delta",
    "turn.completed",
  ]);
});
