// The backend of the shop: its tools, its agent, its page, and the tokens with which the page calls the service.
import { createServer } from "node:http";
import react from "@vitejs/plugin-react";
import { createServer as createVite } from "vite";
import { setUpAgent } from "./agent.mjs";
import { startShop } from "./shop.mjs";

const { KEY, SERVICE = "http://127.0.0.1:8080", PORT = "5173", SHOP_PORT = "3001" } = process.env;
const unreachable = () => Promise.reject(new Error(`No service responds at ${SERVICE}.`));
const api = async (path, method = "GET", body = undefined) => {
  const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };
  const response = await fetch(SERVICE + path, { method, headers, body: JSON.stringify(body) }).catch(unreachable);
  const answer = await response.json();
  if (response.ok) return answer;
  throw new Error([answer.detail, ...(answer.errors ?? []).map(({ pointer, detail }) => `${pointer} ${detail}`)].join("\n"));
};

// Every visitor is Grace. Return the user of your own sign-in instead.
const userOf = (_request) => "grace";
const issueToken = async (request, response) => {
  const { token } = await api("/api/user-tokens", "POST", { userId: userOf(request) });
  response.writeHead(201, { "Content-Type": "application/json" }).end(JSON.stringify({ token }));
};

const stop = ({ message }) => {
  console.error(message);
  process.exit(1);
};
startShop(Number(SHOP_PORT));
const agentId = await setUpAgent(api).catch(stop);
const server = createServer((request, response) => {
  if (request.method !== "POST" || request.url !== "/token") return vite.middlewares(request, response);
  issueToken(request, response).catch(() => response.writeHead(502).end());
});
const define = { AGENT: JSON.stringify(agentId), SERVICE: JSON.stringify(SERVICE) };
const vite = await createVite({ plugins: [react()], define, server: { middlewareMode: true, hmr: { server } } });
server.listen(PORT, "localhost", () => console.log(`http://localhost:${PORT}`));
