// The pages in `examples`, in front of services of their own.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
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
export const startPage = async (env: NodeJS.ProcessEnv, cwd = folder, program = "server.mjs") => {
  const example = spawn(process.execPath, [program], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  const log: string[] = [];
  const lines = createInterface({ input: example.stdout }).on("line", (line) => log.push(line));
  // Before its address, it may report that it prepares the libraries.
  const url = await new Promise<string>((resolve) => {
    lines.on("line", (line) => {
      const [found] = /http:\/\/localhost:\d+/.exec(line) ?? [];
      if (found) resolve(found);
    });
  });
  return { url, log, stop: () => example.kill() };
};

/** Starts the service and the example, with `more` variables. */
export const startExample = async (more: Record<string, string> = {}) => {
  const port = await freePort();
  const service = await startService({ SERVER__ALLOWED_ORIGINS: `http://localhost:${port}`, LLM__INPUTS: "image" });
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

/** Starts the service and the example in `examples/support-desk`. */
export const startDesk = async () => {
  const cwd = folderOf("support-desk");
  const port = await freePort();
  const service = await startService({ SERVER__ALLOWED_ORIGINS: `http://localhost:${port}` });
  const agent = JSON.parse(readFileSync(`${cwd}/agent.json`, "utf8"));
  const { id } = (await service.call("POST", "/api/agents", agent)).body;
  const [client = "", secret = ""] = service.newClient("chat:write,conversations:read,conversations:write,events:read", id).split(" ");
  const variables = { KEY: service.key(SCOPES), CLIENT: client, SECRET: secret, AGENT: id, PASSWORD: "a password", SERVICE: service.url };
  const env = { ...process.env, ...variables, PORT: String(port), NO_COLOR: "1" };
  const page = await startPage(env, cwd, "node_modules/vite/bin/vite.js");
  const stop = async () => {
    page.stop();
    await service.stop();
  };
  return { service, agentId: id as string, folder: cwd, url: page.url, password: variables.PASSWORD, stop };
};
