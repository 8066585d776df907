// Says in one line what is missing, before the libraries are installed.
import { once } from "node:events";
import { createServer } from "node:http";

const { KEY = "", AGENT = "", SERVICE = "http://127.0.0.1:8080", PORT = "5173" } = process.env;
const origin = `http://localhost:${PORT}`;
const stop = (reason) => {
  console.error(reason);
  process.exit(1);
};

/** Reads a resource as the page does; `name` is the variable on which the response depends. */
const check = async (name, path) => {
  const headers = { Authorization: `Bearer ${encodeURIComponent(KEY)}`, Origin: origin };
  const unreachable = () => stop(`No service responds at ${SERVICE}: start it, or set SERVICE to its address.`);
  const response = await fetch(SERVICE + path, { headers }).catch(unreachable);
  const body = await response.json().catch(() => ({}));
  if (body.code) stop(`The service does not accept ${name}: ${body.detail}`);
  if (!body.id) stop(`${SERVICE} is another server: set SERVICE to the address of the service.`);
  return { headers: response.headers, body };
};

if (!KEY || !AGENT) stop("KEY or AGENT is missing: KEY=<an API key> AGENT=<the id of an agent> npm start");
const { scopes } = (await check("KEY", "/api/principal")).body;
if (!scopes.includes("user-tokens:issue")) stop("KEY lacks the scope user-tokens:issue: create a key that has it");
const { headers } = await check("AGENT", `/api/agents/${encodeURIComponent(AGENT)}`);
if (!headers.has("Access-Control-Allow-Origin")) stop(`The service does not allow the page: start it with SERVER__ALLOWED_ORIGINS=${origin}`);
const listen = async () => once(createServer().listen({ port: PORT, host: "localhost" }), "listening");
await listen().catch(({ code }) => stop(`Port ${PORT} cannot be used (${code}): set PORT to another one.`));
process.exit();
