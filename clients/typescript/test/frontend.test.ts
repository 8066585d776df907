// Runs the backend and the page of docs/frontend.md, unchanged.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readBlocks, runModule } from "../../../crates/api/tests/clients/documents.mjs";
import { startService } from "../../../crates/api/tests/clients/service.mjs";
import { freePort } from "./free-port.js";
import { createClient } from "../src/index.js";

const DOCUMENT = new URL("../../../docs/frontend.md", import.meta.url);
const block = readBlocks(DOCUMENT);
const folder = mkdtempSync(join(tmpdir(), "frontend-"));
let service: Awaited<ReturnType<typeof startService>>;
let backend: ChildProcess;
let backendUrl: string;

beforeAll(async () => {
  service = await startService();
  const scopes = readFileSync(DOCUMENT, "utf8").match(/--name backend --scopes (\S+)/)?.[1];
  writeFileSync(join(folder, "backend.mjs"), block("// backend.mjs"));
  writeFileSync(join(folder, "session.mjs"), "export const userOf = async (request) => request.headers.cookie;");
  const port = await freePort();
  backendUrl = `http://localhost:${port}`;
  const env = { ...process.env, KEY: service.key(scopes), SERVICE: service.url, PORT: `${port}` };
  backend = spawn(process.execPath, ["backend.mjs"], { cwd: folder, env, stdio: "inherit" });
  await vi.waitUntil(() => fetch(backendUrl).catch(() => false), { timeout: 20_000 });
});
afterAll(async () => {
  backend.kill();
  await service.stop();
  rmSync(folder, { recursive: true });
});

test("the documented page shows the reply to its user", async () => {
  const agentId = await service.newAgent();
  const reply = { textContent: "" };
  const forBackend: typeof fetch = (input, init) => {
    expect(input).toBe("/token");
    return fetch(backendUrl + input, { ...init, headers: { cookie: "grace" } });
  };
  const page = block("// page.js")
    .replace("https://agents.example.org", service.url)
    .replace("01a1f9f5-e05d-732b-85dd-7c941357da9e", agentId);
  const globals = { fetch: forBackend, document: { getElementById: () => reply } };
  await runModule(page, { "agent-service-client": { createClient } }, { globals });
  expect(reply.textContent).toBe("You said: When do you open?");
  const { body } = await service.call("GET", `/api/conversations?agentId=${agentId}`);
  expect(body.data.map(({ userId }: { userId: string }) => userId)).toEqual(["grace"]);
});

test("a visitor who is not signed in gets no token", async () => {
  expect((await fetch(backendUrl, { method: "POST" })).status).toBe(401);
});
