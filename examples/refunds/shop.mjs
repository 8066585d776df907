// The tools of the shop, for the service alone: an MCP server over streamable HTTP, without sessions.
import { setTimeout as pause } from "node:timers/promises";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { openOrders } from "./orders.mjs";

const { RECORDS = "records.json", PAUSE_MS = "0" } = process.env;
const orders = openOrders(RECORDS);
const inputSchema = { order: z.string().describe("The number of an order, such as A-77") };
const says = (text) => ({ content: [{ type: "text", text }] });

/** Returns a tool that acts, and answers some time later, as a bank would. */
const acting =
  (done) =>
  async ({ order }, { _meta }) => {
    // Whose order it may be comes from the service, never from the arguments, which a model writes.
    const { "agent-service/callId": callId, "agent-service/userId": userId, "agent-service/attempt": attempt } = _meta;
    console.log(`${callId}, attempt ${attempt}: order ${order} is to be ${done}`);
    const record = orders.act(callId, userId, order, done);
    await pause(Number(PAUSE_MS));
    return says(`Order ${record.orderId} is ${record.done}: ${record.price}.`);
  };

const findOrder = ({ order }, { _meta }) => {
  const { id, item, price, done } = orders.orderOf(_meta["agent-service/userId"], order);
  return says(`Order ${id}: ${item} for ${price}${done ? `, ${done}` : ""}.`);
};

const createServer = () => {
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  const harmless = { readOnlyHint: true };
  const final = { readOnlyHint: false, destructiveHint: true, idempotentHint: false };
  server.registerTool("find_order", { description: "Finds an order of the user.", inputSchema, annotations: harmless }, findOrder);
  server.registerTool("cancel_order", { description: "Cancels an order.", inputSchema, annotations: final }, acting("cancelled"));
  server.registerTool("issue_refund", { description: "Refunds an order.", inputSchema, annotations: final }, acting("refunded"));
  return server;
};

/** Listens on the loopback interface, since `_meta` proves nothing about who sends it. */
export const startShop = (port) => {
  const app = createMcpExpressApp();
  app.post("/mcp", async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    response.on("close", () => transport.close());
    await createServer().connect(transport);
    await transport.handleRequest(request, response, request.body);
  });
  app.all("/mcp", (_request, response) => response.status(405).end());
  app.listen(port, "127.0.0.1");
};
