// Runs the commands and the page of the README, and the script for sockets of docs/real-time.md, unchanged.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import { readBlocks, runModule } from "../../../crates/api/tests/clients/documents.mjs";
import { startService as start } from "../../../crates/api/tests/clients/service.mjs";
import { freePort } from "./free-port.js";
import { type Service, startService } from "./service.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
let browser: Browser;
let service: Service;
let agentId: string;
let port: number;

beforeAll(async () => {
  port = await freePort();
  service = await startService();
  agentId = await service.newAgent();
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

/** The commands of the README, from the first key to the address of the page, without those that install or start. */
const steps = (readme: string): string =>
  readme
    .slice(readme.indexOf("## A first conversation"), readme.indexOf("## Documentation"))
    .split("```sh\n")
    .slice(1)
    .map((block) => block.split("```")[0]!.replace(/^npm ci.*\n/m, ""))
    .filter((block) => !/^python3|cargo run$/m.test(block))
    .join("");

test("the commands of the README lead to a reply in its page, and write nothing that git sees", async () => {
  const folder = mkdtempSync(join(tmpdir(), "readme-"));
  cpSync(`${root}clients/typescript/dist`, join(folder, "clients/typescript/dist"), { recursive: true });
  mkdirSync(join(folder, "target/debug"), { recursive: true });
  symlinkSync(resolve(process.env.SERVICE_BINARY!), join(folder, "target/debug/agent-service"));
  mkdirSync(join(folder, "data"));
  const store = { DATABASE_URL: `sqlite://${folder}/data/agent-service.db` };
  const own = await start({ ...store, SERVER__ALLOWED_ORIGINS: `http://localhost:${port}` });
  const written = readFileSync(`${root}README.md`, "utf8");
  const readme = written.replaceAll("http://127.0.0.1:8080", own.url).replaceAll("localhost:5173", `localhost:${port}`);
  const options = { cwd: folder, env: { ...process.env, ...store }, encoding: "utf8" } as const;
  const output = execFileSync("bash", ["-euo", "pipefail", "-c", steps(readme)], options);
  expect(output).toMatch(/^[\da-f-]{36}\n/);
  expect(output).toContain("Pleased to meet you, Grace.");
  const isSeen = (path: string) => !/^(clients\/typescript\/dist|data|target)\//.test(path);
  expect((readdirSync(folder, { recursive: true }) as string[]).filter(isSeen).sort()).toEqual([
    "clients",
    "clients/typescript",
    "clients/typescript/dist",
    "data",
    "target",
  ]);

  const served = join(folder, "target/page");
  writeFileSync(join(served, "page.html"), readme.match(/```html\n([^]*?)```/)![1]!);
  const server = createServer(({ url = "" }, response) => {
    const file = join(served, new URL(url, "http://page").pathname);
    response.setHeader("Content-Type", file.endsWith(".html") ? "text/html; charset=utf-8" : "text/javascript");
    return existsSync(file) ? response.end(readFileSync(file)) : response.writeHead(404).end();
  }).listen(port, "localhost");
  const tab = await browser.newPage();
  await tab.goto(output.trim().split("\n").at(-1)!);
  await expect.poll(() => tab.locator("#reply").innerText()).toBe("We are open from 9 to 18, except on Sundays.");
  server.closeAllConnections();
  server.close();
  await own.stop();
  rmSync(folder, { recursive: true });
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
