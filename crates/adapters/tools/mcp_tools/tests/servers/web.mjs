// An MCP server over HTTP that misbehaves. It prints its port once it listens, and then each call that
// hangs and each cancellation. With the argument "hasty" it ends each stream at once, requests that it
// is reopened without a pause, and prints the time in milliseconds; with "broken" it aborts the stream.
// The tool "report" returns the metadata and the headers of its call, and what came before.
// With "listening" it keeps the stream open; with "deep" and "deep_stream" it has a tool whose schema
// is nested too deeply.
import { createServer } from "node:http";

const [behaviour] = process.argv.slice(2);
const names = ["accept", "deny", "flood", "forget", "forget_always", "hang", "hurry", "large_after_progress", "large_answer", "large_stream", "lose", "moved", "overloaded", "mistake", "mistake_in_text", "refuse", "report", "well"];
const tools = names.map((name) => ({ name, inputSchema: { type: "object" }, annotations: { readOnlyHint: name === "report" } }));
if (behaviour?.startsWith("deep")) {
  tools.push({ name: "deep", inputSchema: { type: "object", default: JSON.parse("[".repeat(500) + "]".repeat(500)) } });
}
let listener = null;
// The requests so far: what they ask for, and their headers.
const received = [];
// Sessions of the past are not known. Each way in which servers say so is an argument of "forget".
let sessions = 0;
const refusals = {
  code: (response) => rejectSession(response, -32000, "Bad Request: Server not initialized"),
  other_code: (response) => rejectSession(response, -32001, "not found"),
  message: (response) => rejectSession(response, -32600, "Invalid Session ID"),
  not_found: (response) => response.writeHead(404).end(),
  gone: (response) => response.writeHead(410).end(),
  text: (response) => response.writeHead(400, { "content-type": "text/plain" }).end("Invalid session ID\n"),
};

// Media types have no case, and may have parameters.
function json(response, id, result) {
  response.writeHead(200, { "content-type": "Application/JSON ; charset=utf-8", "mcp-session-id": `${sessions}` });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

function stream(response, id, result) {
  response.writeHead(200, { "content-type": "Text/Event-Stream;charset=UTF-8" });
  response.end(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
}

function text(bytes) {
  return { content: [{ type: "text", text: "x".repeat(bytes) }] };
}

// Responds like a restarted server, without the id of the request.
function rejectSession(response, code, message) {
  response.writeHead(400, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message } }));
}

// The start of a stream without messages.
function startStream(response) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("id: 1\nretry: 0\n\n");
}

const handlers = {
  accept: (response) => response.writeHead(202).end(),
  deny: (response, id) => {
    response.writeHead(200, { "content-type": "application/json" });
    const error = { code: -32000, message: "the disk has no room" };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
  },
  flood: (response, id) => {
    const content = { type: "text", text: "x".repeat(10000) };
    const params = { messages: [{ role: "user", content }], maxTokens: 1 };
    const message = JSON.stringify({ jsonrpc: "2.0", id: "flood", method: "sampling/createMessage", params });
    while (!listener.destroyed && listener.write(`data: ${message}\n\n`));
    listener.once("drain", () => handlers.flood(response, id));
  },
  forget: (response, id, { how }, session) => {
    if (session === "1") {
      refusals[how](response);
    } else {
      json(response, id, { content: [{ type: "text", text: `in session ${session}` }] });
    }
  },
  forget_always: (response) => rejectSession(response, -32000, "there is no such session"),
  refuse: (response) => rejectSession(response, -32602, "there is no such city"),
  report: (response, id, _, __, { meta, headers }) => {
    const report = JSON.stringify({ meta, headers, received });
    json(response, id, { content: [{ type: "text", text: report }] });
  },
  large_after_progress: (response, id, { bytes }) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const message = JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x".repeat(1000) } });
    for (let sent = 0; sent < bytes; sent += message.length) {
      response.write(`data: ${message}\n\n`);
    }
    response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: text(4) })}\n\n`);
  },
  hang: () => console.log("hangs"),
  hurry: (response) => {
    startStream(response);
    response.end();
  },
  mistake: (response, id) => json(response, id + 1000, { content: [{ type: "text", text: "well" }] }),
  mistake_in_text: (response, id) => json(response, `${id}`, { content: [{ type: "text", text: "well" }] }),
  large_answer: (response, id, { bytes }) => json(response, id, text(bytes)),
  large_stream: (response, id, { bytes }) => stream(response, id, text(bytes)),
  lose: (response, id, { how, status }) => ({
    destroy: () => response.destroy(),
    cut: () => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "500" });
      response.write('{"jsonrpc":', () => response.destroy());
    },
    empty: () => response.writeHead(200, { "content-type": "application/json" }).end(),
    bytes: () => response.writeHead(200, { "content-type": "application/json" }).end(Buffer.from([0x7b, 0xff, 0xfe])),
    page: () => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
    nothing: () => json(response, id, {}),
  }[how] ?? (() => response.writeHead(status).end("oops")))(),
  moved: (response) => response.writeHead(307, { location: "/elsewhere" }).end(),
  overloaded: (response) => response.writeHead(503).end("come back later"),
  well: (response, id) => json(response, id, { content: [{ type: "text", text: "well" }] }),
};

const answers = {
  initialize: (response, { id, params }) => {
    sessions += 1;
    json(response, id, {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "web", version: "1" },
    });
  },
  "tools/list": (response, { id }) => (behaviour === "deep_stream" ? stream : json)(response, id, { tools }),
  "tools/call": (response, { id, params }, session, headers) =>
    handlers[params.name](response, id, params.arguments, session, { meta: params._meta, headers }),
  "notifications/cancelled": (response, { params }) => {
    console.log(`cancelled ${params.reason}`);
    response.writeHead(202).end();
  },
};

const server = createServer(async (request, response) => {
  if (request.method !== "POST") {
    received.push({ request: request.method, headers: request.headers });
  }
  if (request.url !== "/mcp") {
    console.log(`asked for ${request.url}`);
    response.writeHead(404).end();
  } else if (request.method === "GET" && behaviour === "listening") {
    startStream(response);
    listener = response;
    console.log("listens");
  } else if (request.method === "GET" && ["hasty", "broken"].includes(behaviour)) {
    console.log(`listens ${Math.round(performance.now())}`);
    startStream(response);
    setTimeout(() => (behaviour === "hasty" ? response.end() : response.destroy()), 10);
  } else if (request.method !== "POST") {
    response.writeHead(405).end();
  } else {
    let body = "";
    for await (const part of request) {
      body += part;
    }
    const message = JSON.parse(body);
    received.push({ request: message.method, headers: request.headers });
    const accept = (response) => response.writeHead(202).end();
    (answers[message.method] ?? accept)(response, message, request.headers["mcp-session-id"], request.headers);
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
