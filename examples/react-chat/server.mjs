// Serves the page, and issues the tokens with which it calls the service.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import react from "@vitejs/plugin-react";
import { createServer as createVite } from "vite";

const { KEY, AGENT, SERVICE = "http://127.0.0.1:8080", PORT = "5173" } = process.env;
const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };
const unreachable = Response.json({ detail: `The service at ${SERVICE} cannot be reached.` }, { status: 502 });
const call = (path, init) => fetch(SERVICE + path, { headers, ...init }).catch(() => unreachable.clone());

// Visitors are told apart by a cookie. Use the users of your own sign-in instead.
const userOf = ({ headers }) => /(?:^|; )user=([\w-]{36})/.exec(headers.cookie ?? "")?.[1] ?? randomUUID();

const issueToken = async (request, response) => {
  const userId = userOf(request);
  const issued = await call("/api/user-tokens", { method: "POST", body: JSON.stringify({ userId }) });
  response.setHeader("Set-Cookie", `user=${userId}; HttpOnly; SameSite=Strict; Max-Age=31536000`);
  response.writeHead(issued.status, { "Content-Type": "application/json", "Cache-Control": "no-store" }).end(await issued.text());
};

const agent = await call(`/api/agents/${AGENT}`);
if (!agent.ok) throw new Error(`Set KEY to an API key, and AGENT to the id of an agent. ${(await agent.json()).detail}`);

const define = { AGENT: JSON.stringify(AGENT), SERVICE: JSON.stringify(SERVICE) };
const server = createServer((request, response) =>
  request.method === "POST" && request.url === "/token" ? issueToken(request, response) : vite.middlewares(request, response),
);
const vite = await createVite({ plugins: [react()], define, server: { middlewareMode: true, hmr: { server } } });
server.listen(PORT, "localhost", () => console.log(`http://localhost:${PORT}`));
