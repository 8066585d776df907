// The agent: rules, which need neither a model nor a key of one, and tools with who approves their calls.
import { setTimeout as pause } from "node:timers/promises";

const call = (tool) => ({ tool, arguments: { order: "{{capture.1}}" } });

const AGENT = {
  name: "Refunds example",
  config: {
    engine: "rules",
    tools: [
      // Of these, the user approves those that declare to be destructive.
      { name: "shop/*" },
      { name: "shop/issue_refund", approval: "always", approver: "staff" },
      { name: "open_cart", run: "client", description: "Opens the cart.", parameters: { type: "object" } },
    ],
    rules: [
      { pattern: "refund (?:order )?(\\w-\\d+)", call: call("shop/issue_refund"), reply: "{{result}}" },
      { pattern: "cancel (?:order )?(\\w-\\d+)", call: call("shop/cancel_order"), reply: "{{result}}" },
      { pattern: "(\\w-\\d+)", call: call("shop/find_order"), reply: "{{result}}" },
      { keywords: ["cart"], call: { tool: "open_cart" }, reply: "Your cart is open: {{result}}" },
    ],
    fallbackReply: "Write: order A-77, cancel order A-78, refund order A-77, or: show my cart.",
  },
};

/** Waits until the service, which connects by itself, has the tools of the shop. */
const awaitTools = async (api) => {
  const { data } = await api("/api/capabilities");
  const shop = data.find(({ name }) => name === "shop");
  if (!shop) throw new Error("The service does not know the shop: start it with MCP__SERVERS__SHOP__URL.");
  if (shop.available) return;
  await pause(500);
  await awaitTools(api);
};

/** Creates the agent, or changes that of an earlier start. Returns its id. */
export const setUpAgent = async (api) => {
  console.log("Waiting until the service has connected to the shop …");
  await awaitTools(api);
  const { data } = await api(`/api/agents?name=${encodeURIComponent(AGENT.name)}`);
  const existing = data.find(({ name }) => name === AGENT.name);
  const { id } = existing ? await api(`/api/agents/${existing.id}`, "PATCH", AGENT) : await api("/api/agents", "POST", AGENT);
  return id;
};
