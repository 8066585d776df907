// An MCP server over HTTP with the tools "refund", which acts, and "price", which changes nothing.
// It writes each call as a line to the file "calls" of the folder that is its argument. A call returns
// once the folder has a file with the name of its tool. It prints its port.
import { appendFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [folder] = process.argv.slice(2);
const inputSchema = { type: "object" };
const tools = [
  { name: "refund", inputSchema },
  { name: "price", inputSchema, annotations: { readOnlyHint: true } },
];

async function call({ name, _meta: meta }) {
  const { "agent-service/callId": callId, "agent-service/attempt": attempt } = meta;
  appendFileSync(join(folder, "calls"), `${JSON.stringify({ name, callId, attempt })}\n`);
  while (!existsSync(join(folder, name))) {
    await sleep(5);
  }
  return { content: [{ type: "text", text: `${name} done` }] };
}

async function resultOf({ method, params }) {
  switch (method) {
    case "initialize":
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "shop", version: "1" } };
    case "tools/list":
      return { tools };
    case "tools/call":
      return call(params);
    default:
      return {};
  }
}

const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) {
    body += chunk;
  }
  if (request.method !== "POST") {
    response.writeHead(405).end();
    return;
  }
  const message = JSON.parse(body);
  if (message.id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const result = await resultOf(message);
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
