// The built service in a process of its own, with a model that the tests control, behind a relay
// whose connections they can cut. The binary is that of the variable SERVICE_BINARY, or the first
// argument of the program.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startModel } from "./model.mjs";
import { startRelay } from "./relay.mjs";

const binary = process.env.SERVICE_BINARY ?? process.argv[2];
const SCOPES = "agents:write,agents:read,conversations:read,conversations:write,chat:write,events:read";

const environment = (model, settings) => ({
  PATH: process.env.PATH,
  DATABASE_URL: "sqlite://service.db",
  SERVER__PORT: "0",
  SERVER__DRAIN_SECONDS: "0",
  LLM__BASE_URL: model.url,
  LLM__MODEL: "test",
  LLM__INPUTS: "image",
  LIMITS__STREAMS: "10000",
  ...Object.fromEntries(
    ["REQUESTS", "CHAT", "ADDRESS", "LOG_BYTES"].flatMap((name) =>
      ["PER_MINUTE", "BURST"].map((unit) => [`LIMITS__${name}__${unit}`, name === "LOG_BYTES" ? "4000000000" : "1000000"]),
    ),
  ),
  ...settings,
});

// Starts the service in a folder. Returns the process, its log and its URL.
const startProcess = async (folder, env) => {
  const child = spawn(binary, [], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const log = [];
  createInterface({ input: child.stderr }).on("line", (line) => log.push(line));
  const url = await new Promise((found, failed) => {
    child.once("error", failed);
    child.once("exit", () => failed(new Error(log.join("\n"))));
    createInterface({ input: child.stdout }).once("line", (line) => found(line.match(/http:\S+/)[0]));
  });
  return { child, log, url };
};

const end = async (child) => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
};

// The requests of a test to the service.
const callerOf = (url, admin) => {
  const headers = { authorization: `Bearer ${admin}` };
  const call = async (method, path, body, more = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, "content-type": "application/json", ...more },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  };
  const newAgent = async (config = {}) => {
    const draft = { name: "Ada", capabilities: ["calculator"], config: { engine: "llm", tools: [{ name: "calculator", visibility: "full" }], ...config } };
    const made = await call("POST", "/api/agents", draft);
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    return made.body.id;
  };
  // The messages and turns of an agent's only conversation, or of the one with this key.
  const stored = async (agent, key) => {
    const found = await call("GET", `/api/conversations?agentId=${agent}${key ? `&key=${key}` : ""}`);
    if (found.body.data.length > 1) throw new Error("several conversations");
    const id = found.body.data[0]?.id;
    if (id === undefined) return { messages: [], turns: [] };
    const list = async (kind) => (await call("GET", `/api/conversations/${id}/${kind}?limit=100`)).body.data;
    return { messages: await list("messages"), turns: await list("turns") };
  };
  const turns = async (agent, key) => (await stored(agent, key)).turns.map((turn) => turn.status);
  return { headers, call, newAgent, stored, turns };
};

// Starts the service; `settings` are further variables of its environment.
export const startService = async (settings = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "agent-service-"));
  const model = await startModel();
  const env = environment(model, settings);
  let { child, log, url } = await startProcess(folder, env);
  process.once("exit", () => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  // After a restart it listens on the same port.
  env.SERVER__PORT = new URL(url).port;
  const create = (kind, ...more) => {
    const made = [kind, "create", "--name", "test", ...more];
    return execFileSync(binary, made, { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  };
  const key = (scopes) => create("keys", "--scopes", scopes);
  // The id and the secret of an OAuth client that reaches one agent.
  const newClient = (scopes, agent) => create("clients", "--scopes", scopes, "--agent-ids", agent);
  const admin = key(SCOPES);
  const relay = await startRelay(env.SERVER__PORT);
  return {
    ...callerOf(url, admin),
    url,
    model,
    relay,
    key,
    newClient,
    admin,
    log,
    // Sends a signal, as a supervisor does.
    signal: (name) => child.kill(name),
    async restart() {
      await end(child);
      ({ child } = await startProcess(folder, env));
    },
    async stop() {
      relay.stop();
      await end(child);
      model.stop();
    },
  };
};
