// Serves the page, and issues the tokens with which it calls the service.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import react from "@vitejs/plugin-react";
import { createServer as createVite } from "vite";

const { KEY, AGENT, SERVICE = "http://127.0.0.1:8080", PORT = "5173" } = process.env;
const call = (path, init) =>
  fetch(SERVICE.replace(/\/+$/, "") + path, { headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" }, ...init });

// Visitors are told apart by a cookie. Use the users of your own sign-in instead.
const userOf = ({ headers }) => /(?:^|; )user=([\w-]{36})/.exec(headers.cookie ?? "")?.[1] ?? randomUUID();

const issueToken = async (request, response) => {
  const userId = userOf(request);
  const issued = await call("/api/user-tokens", { method: "POST", body: JSON.stringify({ userId }) });
  const answer = await issued.text();
  response.setHeader("Set-Cookie", `user=${userId}; HttpOnly; SameSite=Strict; Max-Age=31536000`);
  response.writeHead(issued.status, { "Content-Type": "application/json" }).end(answer);
};

const server = createServer((request, response) => {
  if (request.method !== "POST" || request.url !== "/token") return vite.middlewares(request, response);
  issueToken(request, response).catch(() => response.writeHead(502).end('{"detail":"The service cannot be reached."}'));
});
const define = { AGENT: JSON.stringify(AGENT), SERVICE: JSON.stringify(SERVICE) };
const vite = await createVite({ plugins: [react()], define, server: { middlewareMode: true, hmr: { server } } });
server.listen(PORT, "localhost", () => console.log(`http://localhost:${PORT}`));
