// Says in one line what is missing, before the libraries are installed.
import { once } from "node:events";
import { createServer } from "node:http";

const { KEY = "", AGENT = "", PORT = "5173" } = process.env;
const SERVICE = (process.env.SERVICE ?? "http://127.0.0.1:8080").replace(/\/+$/, "");
/** The scopes of the key: those of the page, and the one that issues its tokens. */
const SCOPES = ["user-tokens:issue", "chat:write", "conversations:read", "conversations:write", "events:read"];
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

const unset = Object.entries({ KEY, AGENT }).flatMap(([name, value]) => (value ? [] : [name]));
if (unset.length > 0)
  stop(`${unset.join(" and ")} ${unset.length > 1 ? "are" : "is"} missing: KEY=<an API key> AGENT=<the id of an agent> npm start`);
if (!/^https?:\/\//.test(SERVICE)) stop(`SERVICE must begin with http:// or https://, unlike ${SERVICE}`);
const { scopes } = (await check("KEY", "/api/principal")).body;
const missing = SCOPES.filter((scope) => !scopes.includes(scope));
if (missing.length > 0) stop(`KEY lacks scopes: create a key that has ${missing.join(", ")}, too`);
const { headers } = await check("AGENT", `/api/profiles/${encodeURIComponent(AGENT)}`);
if (!headers.has("Access-Control-Allow-Origin"))
  stop(`The service does not allow the page: start it with SERVER__ALLOWED_ORIGINS=${origin}`);
const listen = async () => once(createServer().listen({ port: PORT, host: "localhost" }), "listening");
await listen().catch(({ code }) => stop(`Port ${PORT} cannot be used (${code}): set PORT to another one.`));
process.exit();
