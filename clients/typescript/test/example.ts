// The pages in `examples`, in front of services of their own.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { createClient } from "../src/index.js";
import { freePort } from "./free-port.js";
import { startService } from "./service.js";

const folderOf = (name: string) => fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));
export const folder = folderOf("react-chat");
const SCOPES = "user-tokens:issue,chat:write,conversations:read,conversations:write,events:read";

/** Sends a message from a page. */
export const send = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
};

/** Starts a page and its backend with these variables. `url` is the address of the page, `log` what the backend prints. */
export const startPage = async (env: NodeJS.ProcessEnv, cwd = folder) => {
  const example = spawn(process.execPath, ["server.mjs"], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  const log: string[] = [];
  const lines = createInterface({ input: example.stdout }).on("line", (line) => log.push(line));
  // Before its address, it may report that it prepares the libraries.
  const url = await new Promise<string>((resolve) => lines.on("line", (line) => line.startsWith("http:") && resolve(line)));
  return { url, log, stop: () => example.kill() };
};

/** Starts the service and the example, with `more` variables. */
export const startExample = async (more: Record<string, string> = {}) => {
  const port = await freePort();
  const service = await startService({ SERVER__ALLOWED_ORIGINS: `http://localhost:${port}` });
  const agentId = await service.newAgent();
  const env = { ...process.env, ...more, KEY: service.key(SCOPES), AGENT: agentId, SERVICE: service.url, PORT: String(port) };
  const page = await startPage(env);
  const stop = async () => {
    page.stop();
    await service.stop();
  };
  const client = createClient({ url: service.url, apiKey: service.admin });
  return { service, client, agentId, url: page.url, env, stop };
};

/** Starts the service and the example in `examples/refunds`, whose tools answer after `pauseMs`. */
export const startRefunds = async (records: string, pauseMs: number) => {
  const [port, shopPort] = [await freePort(), await freePort()];
  const service = await startService({
    SERVER__ALLOWED_ORIGINS: `http://localhost:${port}`,
    MCP__SERVERS__SHOP__URL: `http://127.0.0.1:${shopPort}/mcp`,
    MCP__SERVERS__SHOP__REPEATABLE: "true",
  });
  const key = service.key("user-tokens:issue,agents:read,agents:write,chat:write,conversations:read,events:read,tools:approve");
  const more = {
    KEY: key,
    SERVICE: service.url,
    PORT: String(port),
    SHOP_PORT: String(shopPort),
    RECORDS: records,
    PAUSE_MS: String(pauseMs),
  };
  const page = await startPage({ ...process.env, ...more }, folderOf("refunds"));
  const stop = async () => {
    page.stop();
    await service.stop();
  };
  return { service, client: createClient({ url: service.url, apiKey: key }), url: page.url, log: page.log, stop };
};
