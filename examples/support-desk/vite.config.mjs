import { randomUUID } from "node:crypto";
import react from "@vitejs/plugin-react";

const { KEY, CLIENT, SECRET, AGENT, PASSWORD = randomUUID(), SERVICE = "http://127.0.0.1:8080", PORT = "5173" } = process.env;
const post = async (path, Authorization, body) => (await fetch(SERVICE + path, { method: "POST", headers: { Authorization }, body })).json();

// A cookie tells visitors apart; staff signs in with any name and one password. Use your own sign-in instead.
const issue = async ({ url, headers }, response) => {
  if (url !== "/desk") {
    const userId = /\buser=([\w-]{36})/.exec(headers.cookie)?.[1] ?? randomUUID();
    response.setHeader("Set-Cookie", `user=${userId}; HttpOnly; SameSite=Strict; Max-Age=31536000`);
    return post("/api/user-tokens", `Bearer ${KEY}`, new Blob([JSON.stringify({ userId, agentIds: [AGENT] })], { type: "application/json" }));
  }
  const [name, password] = Buffer.from(headers.authorization?.slice(6) ?? "", "base64").toString().split(":");
  if (password !== PASSWORD) return response.writeHead(401, { "WWW-Authenticate": "Basic" }) && {};
  return { name, token: (await post("/oauth2/token", `Basic ${btoa(`${CLIENT}:${SECRET}`)}`, new URLSearchParams({ grant_type: "client_credentials" }))).access_token };
};

const answer = (request, response, next) => issue(request, response).then((body) => response.end(JSON.stringify(body)), next);
const tokens = { name: "tokens", configureServer: ({ middlewares }) => void middlewares.use("/token", answer) };
export default { plugins: [react(), tokens], define: { AGENT: JSON.stringify(AGENT), SERVICE: JSON.stringify(SERVICE) }, server: { port: Number(PORT), strictPort: true } };
