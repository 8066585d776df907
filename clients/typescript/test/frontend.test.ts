// Runs the backend and the page of docs/frontend.md, in Chromium, with the addresses of the test.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import { readBlocks } from "../../../crates/api/tests/clients/documents.mjs";
import { startService } from "../../../crates/api/tests/clients/service.mjs";
import { createClient } from "../src/index.js";
import { folder as example } from "./example.js";
import { freePort } from "./free-port.js";

const DOCUMENT = new URL("../../../docs/frontend.md", import.meta.url);
const TEXT = readFileSync(DOCUMENT, "utf8");
const block = readBlocks(DOCUMENT);
const folder = mkdtempSync(join(tmpdir(), "frontend-"));
let service: Awaited<ReturnType<typeof startService>>;
let backend: ChildProcess;
let backendUrl: string;
/** The port of the page, whose origin the service allows. */
let port: number;

beforeAll(async () => {
  port = await freePort();
  service = await startService({ SERVER__ALLOWED_ORIGINS: `http://localhost:${port}` });
  const scopes = TEXT.match(/--name backend --scopes (\S+)/)?.[1];
  writeFileSync(join(folder, "backend.mjs"), block("// backend.mjs"));
  const backendPort = await freePort();
  backendUrl = `http://localhost:${backendPort}`;
  const env = { ...process.env, KEY: service.key(scopes), SERVICE: service.url, PORT: `${backendPort}` };
  backend = spawn(process.execPath, ["backend.mjs"], { cwd: folder, env, stdio: "inherit" });
  await vi.waitUntil(() => fetch(backendUrl).catch(() => false), { timeout: 20_000 });
});
afterAll(async () => {
  backend.kill();
  await service.stop();
  rmSync(folder, { recursive: true });
});

const order = (path: string, init: RequestInit = {}) => fetch(backendUrl + path, { method: "POST", ...init });

test("the documented page, with a script of ten lines, shows the reply to its visitor", async () => {
  const agentId = await service.newAgent();
  const page = TEXT.match(/```html\n(<!-- index.html -->\n[^]*?)```/)?.[1] ?? "";
  const script = /<script.*>\n([^]*)\n<\/script>/.exec(page)?.[1]?.split("\n") ?? [];
  expect(script.length).toBeGreaterThan(0);
  expect(script.length).toBeLessThanOrEqual(10);
  writeFileSync(
    join(folder, "index.html"),
    page.replace("http://127.0.0.1:8080", service.url).replace("01a1f9f5-e05d-732b-85dd-7c941357da9e", agentId),
  );
  writeFileSync(join(folder, "vite.config.mjs"), block("// vite.config.mjs").replace("http://localhost:3000", backendUrl));
  // The built package, as the example has installed it.
  const installed = "node_modules/agent-service-client";
  cpSync(join(example, installed), join(folder, installed), { recursive: true });
  const vite = spawn(process.execPath, [join(example, "node_modules/vite/bin/vite.js"), "--port", `${port}`, "--strictPort"], {
    cwd: folder,
    stdio: "ignore",
  });
  onTestFinished(() => void vite.kill());
  await vi.waitUntil(() => fetch(`http://localhost:${port}`).catch(() => false), { timeout: 20_000 });
  const browser = await startBrowser();
  onTestFinished(() => browser.close());
  const shown = await browser.newPage();
  await shown.goto(`http://localhost:${port}`);
  await expect.poll(() => shown.locator("#reply").textContent()).toBe("You said: When do you open?");
  const { body } = await service.call("GET", `/api/conversations?agentId=${agentId}`);
  expect(body.data).toEqual([expect.objectContaining({ userId: expect.stringMatching(/^[\w-]{36}$/) })]);
});

test("a visitor keeps its user, whose token reads agents too", async () => {
  const first = await order("/token");
  expect(first.headers.get("content-type")).toBe("application/json");
  const [cookie] = first.headers.get("set-cookie")!.split(";");
  const again = await order("/token", { headers: { cookie: cookie! } });
  expect(again.headers.get("set-cookie")).toContain(cookie);
  const { token } = (await again.json()) as { token: string };
  const visitor = createClient({ url: service.url, getToken: () => token });
  const agent = await service.newAgent();
  expect((await visitor.profiles.get(agent)).id).toBe(agent);
  expect((await visitor.principal.get()).userId).toBe(cookie!.slice("user=".length));
});

test("the backend issues tokens at one path only, and survives an outage of the service", async () => {
  expect((await order("/other")).status).toBe(404);
  expect((await order("/token", { method: "GET" })).status).toBe(404);
  service.signal("SIGKILL");
  await expect.poll(async () => (await order("/token")).status).toBe(502);
  expect(await (await order("/token")).json()).toEqual({ detail: "The service cannot be reached." });
  await service.restart();
  expect((await order("/token")).status).toBe(201);
});
