// An MCP server over its standard streams that misbehaves.
//
// Its argument selects a behaviour: "well" responds, "silent" never does, "stubborn" ignores SIGTERM,
// "careless" lists an invalid tool and a schema that is nested too deeply, "newest" supports only the
// protocol version without a handshake, and "deaf" does, too, but does not respond to subscriptions.
// "forgetful" ignores cursors, and notes each listing.
// NOTES is the path of a file to which it writes events.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [behaviour] = process.argv.slice(2);
const hasNoHandshake = behaviour === "newest" || behaviour === "deaf";
const newestVersion = "2026-07-28";
let subscription = null;
let asking = null;

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function note(text) {
  appendFileSync(process.env.NOTES, `${text}\n`);
}

function sample(id) {
  const content = { type: "text", text: "x".repeat(10000) };
  send({ id, method: "sampling/createMessage", params: { messages: [{ role: "user", content }], maxTokens: 1 } });
}

// A list within a list, nested this deeply.
function nested(levels) {
  return JSON.parse("[".repeat(levels) + "]".repeat(levels));
}

function tool(name) {
  return { name, description: `Scripted: ${name}`, inputSchema: { type: "object" } };
}

const names = "add_silently add_tool ask break complain deny exit exit_but_for_a_child fail flood hang large mixed parent refuse well".split(" ");
const tools = names.map(tool);

function complete(id, result) {
  send({ id, result: hasNoHandshake ? { resultType: "complete", ...result } : result });
}

function text(id, text, isError = false) {
  complete(id, { content: [{ type: "text", text }], isError });
}

const handlers = {
  add_tool: (id) => {
    tools.push(tool("added"));
    const meta = subscription === null ? {} : { _meta: { "io.modelcontextprotocol/subscriptionId": subscription } };
    send({ method: "notifications/tools/list_changed", params: meta });
    text(id, "added");
  },
  // Content of which only some can be read.
  mixed: (id) => {
    const resource = { uri: "repo://a", mimeType: "text/plain", text: "# The secret word is PLUM" };
    const content = [{ type: "text", text: "one" }, { type: "video", data: "AAAA" }, { type: "image", data: "AAAA" }, { type: "resource", resource }];
    complete(id, { content, isError: null, structuredContent: null });
  },
  add_silently: (id) => {
    tools.push(tool("unannounced"));
    text(id, "added");
  },
  // Requests a completion from the client, and returns the response.
  ask: (id) => {
    asking = id;
    sample("asked");
  },
  break: (id) => send({ id, error: { code: -32603, message: "out of order" } }),
  complain: (id, given) => {
    console.error(JSON.stringify(given));
    text(id, "complained");
  },
  deny: (id) => send({ id, error: { code: -32000, message: "the disk has no room" } }),
  exit: () => process.exit(1),
  // In its own process group and with our output, it outlives this process.
  exit_but_for_a_child: () => {
    const options = { detached: true, stdio: "inherit" };
    note(`left ${spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"], options).pid}`);
    process.exit(1);
  },
  fail: (id) => text(id, "the disk is full", true),
  flood: () => {
    for (let number = 0; number < 100; number++) {
      sample(`flood ${number}`);
    }
    setImmediate(handlers.flood);
  },
  hang: (id) => note(`hangs ${id}`),
  large: (id, { bytes }) => text(id, "x".repeat(bytes)),
  parent: (id) => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    text(id, `${process.pid} ${child.pid}`);
  },
  refuse: (id) => send({ id, error: { code: -32602, message: "there is no such city" } }),
  well: (id) => text(id, "well"),
};

const capabilities = { tools: { listChanged: true } };
const serverInfo = { name: "scripted", title: "Scripted tools", version: "1" };

const answers = {
  initialize: (id, { protocolVersion }) => {
    if (hasNoHandshake) {
      send({ id, error: { code: -32601, message: "there is no handshake any more" } });
    } else {
      complete(id, { protocolVersion, capabilities, serverInfo });
    }
  },
  "server/discover": (id) =>
    complete(id, {
      supportedVersions: [newestVersion],
      capabilities,
      ttlMs: 0,
      cacheScope: "private",
      _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
    }),
  "subscriptions/listen": (id, { notifications }) => {
    if (behaviour === "deaf") {
      return;
    }
    subscription = id;
    send({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications, _meta: { "io.modelcontextprotocol/subscriptionId": id } },
    });
  },
  // The list has two pages.
  "tools/list": (id, params) => {
    const cache = hasNoHandshake ? { ttlMs: 3600000, cacheScope: "private" } : {};
    const middle = 4;
    if (behaviour === "forgetful") {
      note("lists");
      complete(id, { tools, nextCursor: "second" });
      return;
    }
    if (params?.cursor === "second") {
      // These are invalid tools.
      const deep = { name: "deep", inputSchema: { type: "object", default: nested(500) } };
      const wrong = [{ name: "without_schema" }, { name: 5, inputSchema: {} }, null, deep];
      const rest = tools.slice(middle);
      complete(id, { tools: behaviour === "careless" ? [...wrong, ...rest] : rest, ...cache });
    } else {
      complete(id, { tools: tools.slice(0, middle), nextCursor: "second", ...cache });
    }
  },
  "tools/call": (id, { name, arguments: given }) => handlers[name](id, given),
  ping: (id) => complete(id, {}),
};

console.error("scripted tools have started");
if (behaviour === "silent") {
  note(`runs ${process.pid} ${spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]).pid}`);
}
if (behaviour === "stubborn") {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1000);
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, error } = JSON.parse(line);
  if (behaviour === "silent") {
    continue;
  }
  if (id === "asked") {
    text(asking, `${error.code}`);
  } else if (method === "notifications/cancelled") {
    note(`cancelled ${params.requestId}`);
  } else if (id !== undefined && method !== undefined) {
    answers[method](id, params ?? {});
  }
}
