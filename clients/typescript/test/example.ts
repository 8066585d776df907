// The example in `examples/react-chat`, in front of a service of its own.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createClient } from "../src/index.js";
import { freePort } from "./free-port.js";
import { startService } from "./service.js";

export const folder = fileURLToPath(new URL("../../../examples/react-chat", import.meta.url));
const SCOPES = "user-tokens:issue,agents:read,chat:write,conversations:read,conversations:write,events:read";

/** Starts the page and its backend with these variables. `url` is the address of the page. */
export const startPage = async (env: NodeJS.ProcessEnv) => {
  const example = spawn(process.execPath, ["server.mjs"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  // Before its address, it may report that it prepares the libraries.
  const lines = createInterface({ input: example.stdout });
  const url = await new Promise<string>((resolve) => lines.on("line", (line) => line.startsWith("http:") && resolve(line)));
  return { url, stop: () => example.kill() };
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
