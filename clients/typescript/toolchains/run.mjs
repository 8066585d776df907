// Tries the packed client in new projects of the toolchains: `node run.mjs [name…]`. The service is that of SERVICE_BINARY,
// and the client that of CLIENT_PACKAGE, a `.tgz` file, or else it is packed. Prints a table, and fails if a toolchain fails.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { startService } from "../../../crates/api/tests/clients/service.mjs";
import { chat, MESSAGE } from "./chat.mjs";
import { install, versionsOf, write } from "./project.mjs";
import { run, timed } from "./steps.mjs";
import { toolchains } from "./toolchains.mjs";

const SCOPES = ["chat:write", "conversations:read", "conversations:write", "events:read", "agents:read"];
/** Installed for toolchains that need a newer one than 20. */
const NODE = "node@24.21.0";
/** Nobody is asked or watched. */
const QUIET = {
  CI: "1",
  NO_COLOR: "1",
  NEXT_TELEMETRY_DISABLED: "1",
  NUXT_TELEMETRY_DISABLED: "1",
  NG_CLI_ANALYTICS: "false",
  WRANGLER_SEND_METRICS: "false",
};
const STEPS = ["install", "types", "build", "chat"];

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in toolchains));
if (unknown.length > 0) throw new Error(`no such toolchain: ${unknown}; there are ${Object.keys(toolchains).join(", ")}`);
const chosen = Object.entries(toolchains).filter(([name]) => names.length === 0 || names.includes(name));

const here = fileURLToPath(new URL(".", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "toolchains-"));
process.once("exit", () => rmSync(work, { recursive: true, force: true, maxRetries: 5 }));

const pack = async () => {
  await run(join(here, ".."), process.env, "pack", "--pack-destination", work);
  return join(
    work,
    readdirSync(work).find((file) => file.endsWith(".tgz")),
  );
};

const installNode = async () => {
  const folder = join(work, "node");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  await run(folder, process.env, "install", NODE);
  return join(folder, "node_modules/.bin");
};

const freePorts = async (count) => {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => new Promise((listening) => server.once("listening", listening))));
  const ports = servers.map((server) => server.address().port);
  for (const server of servers) server.close();
  return ports;
};

const client = process.env.CLIENT_PACKAGE ? resolve(process.env.CLIENT_PACKAGE) : await pack();
const newNode = chosen.some(([, { newNode }]) => newNode) ? await installNode() : "";
const ports = await freePorts(chosen.length);
const service = await startService({ SERVER__ALLOWED_ORIGINS: ports.map((port) => `http://127.0.0.1:${port}`).join() });
const key = service.key(["user-tokens:issue", ...SCOPES].join());
const executablePath = execFileSync("sh", ["-c", "command -v chromium || command -v chromium-browser || command -v google-chrome"], {
  encoding: "utf8",
}).trim();
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

/** Prepares everything that a project and its visitor need. */
const projectOf = async (name, toolchain, port) => {
  const issued = await fetch(`${service.url}/api/user-tokens`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ userId: "grace", scopes: SCOPES }),
  });
  const { token } = await issued.json();
  const agentId = await service.newAgent();
  const path = [toolchain.newNode ? newNode : "", process.env.PATH].filter(Boolean).join(delimiter);
  // The server of a page issues tokens; a program chats itself.
  const credential = toolchain.chat === "page" ? key : service.admin;
  const own = { PORT: String(port), HOST: "127.0.0.1", SERVICE: service.url, KEY: credential, AGENT: agentId, MESSAGE };
  return {
    ...toolchain,
    name,
    folder: join(work, name),
    env: { ...process.env, ...QUIET, ...own, PATH: path },
    hasBackend: toolchain.files.some((file) => file.endsWith("user-token.ts")),
    address: `http://127.0.0.1:${port}/`,
    url: service.url,
    agentId,
    token,
    client,
    service,
    browser,
  };
};

/** Returns the row of the table. Steps after one that has failed are not tried. */
const attempt = async (name, toolchain, port) => {
  const project = await projectOf(name, toolchain, port);
  const { scripts, lines } = write(project);
  const actions = {
    install: () => install(project),
    types: scripts.types && (() => run(project.folder, project.env, "run", "types")),
    build: scripts.build && (() => run(project.folder, project.env, "run", "build")),
    chat: () => chat(project),
  };
  const cells = [];
  let hasFailed = false;
  for (const step of STEPS) {
    if (hasFailed || !actions[step]) {
      cells.push("–");
      continue;
    }
    try {
      cells.push(`${(await timed(step, actions[step])).toFixed(1)} s`);
    } catch (error) {
      hasFailed = true;
      cells.push("failed");
      console.error(`\n${name}, ${step}: ${error.message.split("\n").slice(0, 40).join("\n")}\n`);
    }
  }
  const versions = versionsOf(project);
  // Programs that were ended may still write.
  rmSync(project.folder, { recursive: true, force: true, maxRetries: 5 });
  console.log(`${name}: ${cells.join(", ")}`);
  return { cells: [name, versions, ...cells, lines], hasFailed };
};

const rows = [];
for (const [index, [name, toolchain]] of chosen.entries()) rows.push(await attempt(name, toolchain, ports[index]));

const table = [["toolchain", "version", ...STEPS, "lines"], Array(7).fill("---"), ...rows.map(({ cells }) => cells)];
console.log(`\n${table.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}`);
await browser.close();
await service.stop();
process.exit(rows.some(({ hasFailed }) => hasFailed) ? 1 : 0);
