// The built service in a process of its own, with a model that the tests control, behind a relay
// whose connections they can cut.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

// A model whose reply depends on the user's text:
// `words N P`: N words with pauses of P milliseconds; `hold`: half a reply, the rest after
// `release()`; `tool`: text, a call of the calculator, text; `bad tool`: a call that fails;
// `fail`: no reply; anything else is echoed.
export const startModel = async () => {
  const requests = [];
  let held = [];
  const model = {
    requests,
    release: () => {
      for (const go of held) go();
      held = [];
    },
  };
  const reply = async (text, messages, send) => {
    const [command, ...rest] = text.split(" ");
    const says = (content) => void send({ content });
    const calls = (args) =>
      void send({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "calculator", arguments: args } }] });
    if (command === "words") {
      for (let n = 1; n <= Number(rest[0]); n += 1) {
        if (n > 1) await sleep(Number(rest[1] ?? 0));
        says(`word${n} `);
      }
    } else if (command === "hold") {
      says("First half, ");
      await new Promise((go) => held.push(go));
      says("second half.");
    } else if (text === "tool" || text === "bad tool") {
      if (messages.at(-1).role === "tool") return says("That is it.");
      says("Let me see. ");
      calls(text === "tool" ? '{"expression":"17 * 24"}' : '{"expression":"17 *"}');
      return "tool_calls";
    } else {
      says(`You said: ${text}`);
    }
    return "stop";
  };
  const server = createHttpServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { messages } = JSON.parse(body);
    requests.push(messages);
    const text = messages.findLast((message) => message.role === "user").content;
    if (text === "fail") return response.writeHead(400).end('{"error":{"message":"no"}}');
    response.writeHead(200, { "content-type": "text/event-stream" });
    const write = (choice) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
    const finish_reason = (await reply(text, messages, (delta) => write({ delta }))) ?? "stop";
    write({ delta: {}, finish_reason });
    response.end("data: [DONE]\n\n");
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  model.url = `http://127.0.0.1:${server.address().port}/v1`;
  model.stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return model;
};

// A relay to a port. `cut` ends all its connections, `refuse` also new ones, until `accept`;
// `cutAfter` ends the connection that receives the last of so many events from then on.
export const startRelay = async (port) => {
  const open = new Set();
  const relay = { cuts: 0, events: Infinity, isClosed: false };
  relay.cut = () => {
    relay.cuts += 1;
    for (const socket of open) socket.destroy();
  };
  relay.refuse = () => {
    relay.isClosed = true;
    relay.cut();
  };
  relay.accept = () => (relay.isClosed = false);
  relay.cutAfter = (events) => (relay.events = events);
  // The position after the event at which to cut, if it is in the data.
  const cutIn = (data) => {
    for (let at = data.indexOf("\n\n"); at >= 0; at = data.indexOf("\n\n", at + 2)) {
      relay.events -= 1;
      if (relay.events === 0) return at + 2;
    }
    return undefined;
  };
  const server = createServer((near) => {
    if (relay.isClosed) return near.destroy();
    const far = connect(port, "127.0.0.1");
    near.pipe(far);
    far.on("data", (data) => {
      const at = cutIn(data);
      if (at === undefined) return near.write(data);
      relay.events = Infinity;
      relay.cuts += 1;
      near.write(data.subarray(0, at), () => near.destroy());
      far.destroy();
    });
    far.on("end", () => near.end());
    for (const [one, other] of [[near, far], [far, near]]) {
      open.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  relay.url = `http://127.0.0.1:${server.address().port}`;
  relay.stop = () => {
    relay.cut();
    server.close();
  };
  return relay;
};

// The service, an agent that uses the model, and callers.
export const startService = async (binary, { settings = {} } = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "ai-sdk-"));
  const model = await startModel();
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: "sqlite://service.db",
    SERVER__PORT: "0",
    SERVER__DRAIN_SECONDS: "0",
    LLM__BASE_URL: model.url,
    LLM__MODEL: "test",
    LIMITS__REQUESTS__PER_MINUTE: "1000000",
    LIMITS__REQUESTS__BURST: "1000000",
    LIMITS__CHAT__PER_MINUTE: "1000000",
    LIMITS__CHAT__BURST: "1000000",
    LIMITS__STREAMS: "10000",
    ...settings,
  };
  const child = spawn(binary, [], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const log = [];
  createInterface({ input: child.stderr }).on("line", (line) => log.push(line));
  const url = await new Promise((found, failed) => {
    child.once("exit", () => failed(new Error(log.join("\n"))));
    createInterface({ input: child.stdout }).once("line", (line) => found(line.replace("listening on ", "")));
  });
  const key = (scopes) => {
    const made = ["keys", "create", "--name", "test", "--scopes", scopes];
    return execFileSync(binary, made, { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  };
  const admin = key("agents:write,agents:read,conversations:read,conversations:write,chat:write,events:read");
  const api = async (method, path, body, headers = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${admin}`, "content-type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
  };
  const newAgent = async (config = {}) => {
    const draft = { name: "Ada", capabilities: ["calculator"], config: { engine: "llm", ...config } };
    const made = await api("POST", "/api/agents", draft);
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    return made.body.id;
  };
  const relay = await startRelay(new URL(url).port);
  const stop = async () => {
    relay.stop();
    if (child.exitCode === null) {
      child.kill("SIGKILL");
      await new Promise((ended) => child.once("exit", ended));
    }
    model.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, relay, model, key, admin, api, newAgent, child, log, stop };
};

// Waits until `holds` returns something.
export const until = async (holds, what = holds) => {
  for (let tries = 0; tries < 400; tries += 1) {
    const found = await holds();
    if (found) return found;
    await sleep(25);
  }
  throw new Error(`never: ${what}`);
};
