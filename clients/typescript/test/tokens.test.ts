// Quality 5: one `getToken` for all connections; what the service rejects for good ends, and what it
// delays waits as long as it says.
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket as NodeWebSocket } from "ws";
import { type ConversationState, createClient, type LogEvent } from "../src/index.js";
import { until } from "./conversations.js";
import { LEEWAY, startIssuer } from "./issuer.js";
import { memoryStorage } from "./memory-storage.js";
import { type Service, startService } from "./service.js";

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let service: Service;
let agentId: string;

/** The frames of all sockets, with the time at which each was opened. */
const frames: { type: string; code?: number }[] = [];
let opened = 0;
class RecordedWebSocket extends NodeWebSocket {
  constructor(url: string, protocol: string) {
    super(url, protocol);
    opened += 1;
    this.addEventListener("message", ({ data }) => frames.push(JSON.parse(String(data))));
  }
}
const WebSocket = RecordedWebSocket as unknown as typeof globalThis.WebSocket;
const transports: [string, typeof WebSocket | null][] = [
  ["server-sent events", null],
  ["sockets", WebSocket],
];

beforeAll(async () => {
  issuer = await startIssuer();
  service = await startService(issuer.settings);
  agentId = await service.newAgent();
});
afterAll(async () => {
  await service?.stop();
  issuer?.stop();
});

/** Sends a message, whose conversation and turn are three events. */
const send = async (key: string): Promise<void> => {
  const client = createClient({ url: service.url, getToken: () => issuer.token(60) });
  for await (const _ of client.chat({ agentId, conversationKey: key, message: "Hello" }));
};

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Follows nine events while tokens expire. */
const followWith = async (key: string, getToken: () => string, webSocket: typeof WebSocket | null) => {
  let calls = 0;
  const counted = () => {
    calls += 1;
    return getToken();
  };
  const client = createClient({ url: service.url, getToken: counted, webSocket });
  const { headSeq } = await client.events.list({});
  const received: LogEvent[] = [];
  const follow = async () => {
    for await (const event of client.events({ since: headSeq })) if (received.push(event) === 9) return;
  };
  const followed = follow();
  for (let round = 0; round < 3; round += 1) {
    await send(`${key}-${round}`);
    await sleep(1700);
  }
  await followed;
  expect(received.map(({ seq }) => seq)).toEqual(received.map((_, index) => headSeq + 1 + index));
  expect(calls).toBeGreaterThan(1);
  expect(calls).toBeLessThan(8);
};

test("a token that expires in mid-stream is replaced: server-sent events", () =>
  followWith("streams", () => issuer.token(2 - LEEWAY), null));

test("a token that expires on a socket is replaced: the service closes it", async () => {
  await followWith("sockets", () => issuer.token(2 - LEEWAY), WebSocket);
  expect(frames).toContainEqual(expect.objectContaining({ type: "goodbye", code: 4203 }));
});

test("a token that is about to expire on a socket is replaced in place", async () => {
  const before = opened;
  await followWith("in-place", () => issuer.token(3), WebSocket);
  expect(opened - before).toBe(1);
});

test.each(transports)("an expired token that is not replaced ends the events: %s", async (_, webSocket) => {
  const token = issuer.token(2 - LEEWAY);
  const client = createClient({ url: service.url, getToken: () => token, webSocket });
  await expect(client.events({}).next()).rejects.toMatchObject({ name: "ProblemError", code: "token_expired", status: 401 });
});

test.each(transports)("a revoked credential ends the events, and a conversation: %s", async (_, webSocket) => {
  const admin = createClient({ url: service.url, apiKey: service.key("keys:admin,chat:write,conversations:read,events:read") });
  const before = new Set((await admin.keys.list({})).data.map(({ id }) => id));
  const token = service.key("chat:write,conversations:read,events:read");
  const created = (await admin.keys.list({})).data.find(({ id }) => !before.has(id));
  let calls = 0;
  const getToken = () => {
    calls += 1;
    return token;
  };
  const client = createClient({ url: service.url, getToken, webSocket });
  const chat = client.conversation({ agentId, key: "revoked" });
  await chat.load();
  const next = client.events({}).next();
  const outcome = expect(next).rejects.toMatchObject({ code: "invalid_credentials", status: 401 });
  await sleep(300);
  await admin.keys.revoke(created!.id);
  await outcome;
  await expect.poll(() => chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "invalid_credentials" } });
  expect(calls).toBeLessThan(5);
});

test("a token without the scope for events shows only what the page sends itself", async () => {
  const client = createClient({
    url: service.url,
    getToken: () => issuer.token(60, "chat:write conversations:read"),
    webSocket: WebSocket,
  });
  await expect(client.events({}).next()).rejects.toMatchObject({ code: "insufficient_scope" });
  const chat = client.conversation({ agentId, key: "scope" });
  await chat.load();
  await chat.send("Hello");
  expect(chat.getSnapshot().messages.map(({ text }) => text)).toEqual(["Hello", "You said: Hello"]);
  expect(chat.getSnapshot().status).toBe("ready");
});

test("a service that restarts says goodbye, and its sockets return without a gap", async () => {
  const client = createClient({ url: service.url, getToken: () => issuer.token(60), webSocket: WebSocket });
  const { headSeq } = await client.events.list({});
  const received: LogEvent[] = [];
  const follow = async () => {
    for await (const event of client.events({ since: headSeq })) if (received.push(event) === 6) return;
  };
  const followed = follow();
  await send("before");
  await expect.poll(() => received.length).toBe(3);
  service.signal("SIGTERM");
  await expect.poll(() => frames, { timeout: 5000 }).toContainEqual(expect.objectContaining({ type: "goodbye", code: 4200 }));
  await service.restart();
  await send("after");
  await followed;
  expect(received.map(({ seq }) => seq)).toEqual(received.map((_, index) => headSeq + 1 + index));
});

const problem = (status: number, more: object): Response => {
  const body = { type: "", title: "", detail: "", status, code: "rate_limited", retryable: true, ...more };
  return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/problem+json" } });
};
const busyProxy = (after: string) =>
  new Response("<h1>Busy</h1>", { status: 503, headers: { "Content-Type": "text/html", "Retry-After": after } });

test.each([
  ["a problem", () => problem(429, { retryAfter: 1 })],
  ["the seconds of a proxy", () => busyProxy("1")],
  ["the date of a proxy", () => busyProxy(new Date(Date.now() + 2000).toUTCString())],
])("requests wait for the time in `Retry-After`: %s", async (_, respond) => {
  const times: number[] = [];
  const busy: typeof fetch = async (input, init) => {
    times.push(Date.now());
    return times.length > 1 ? fetch(input, init) : respond();
  };
  const client = createClient({ url: service.url, getToken: () => issuer.token(60), fetch: busy });
  await client.limits.get();
  expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(990);
});

test.each([1e10, "1e400", 2_147_484])("a time that no timer can wait for leads to no further requests: %s", async (retryAfter) => {
  let requests = 0;
  const busy: typeof fetch = async () => {
    requests += 1;
    return problem(429, { retryAfter });
  };
  const client = createClient({ url: service.url, getToken: () => issuer.token(60), fetch: busy, webSocket: null });
  const events = client.events({ since: 0, signal: AbortSignal.timeout(500) });
  await expect(events.next()).rejects.toMatchObject({ name: "TimeoutError" });
  expect(requests).toBe(1);
});

test.each([
  ["without events", "chat:write conversations:read"],
  ["with events", "chat:write conversations:read events:read"],
])("a message of one user is never sent as another: %s", async (name, scope) => {
  let user = "ada";
  let isLost = false;
  const lossy: typeof fetch = async (input, init) => {
    if (isLost) throw new TypeError("offline");
    // The tokens of the first user have ended.
    if (user !== "ada" && new Headers(init?.headers).get("Authorization") === adas) return new Response("{}", { status: 401 });
    return fetch(input, init);
  };
  const ada = issuer.token(60, scope);
  const adas = `Bearer ${ada}`;
  const getToken = () => (user === "ada" ? ada : issuer.token(60, scope, user));
  const kept = memoryStorage();
  const client = createClient({ url: service.url, getToken, fetch: lossy, webSocket: WebSocket, retries: 0 });
  const key = `users ${name}`.replaceAll(" ", "-");
  const chat = client.conversation({ agentId, key, storage: kept });
  await chat.load();
  isLost = true;
  await chat.send("a secret of Ada");
  user = "grace";
  isLost = false;
  const isRefused = ({ status, error }: ConversationState) =>
    status === "failed" && !!error && "message" in error && error.message.includes("another user");
  await until(chat, isRefused);
  // It tries again, and still refuses.
  await chat.load();
  expect(isRefused(chat.getSnapshot())).toBe(true);
  expect(chat.getSnapshot().messages).toMatchObject([{ text: "a secret of Ada", status: "sending" }]);
  expect(await service.turns(agentId, key)).toEqual([]);
  // Another page of the other user does not find it; once the first user is back, it is sent.
  const other = createClient({ url: service.url, getToken }).conversation({ agentId, key, storage: kept });
  await other.load();
  expect(other.getSnapshot()).toMatchObject({ status: "ready", messages: [] });
  other.close();
  user = "ada";
  await chat.load();
  expect(chat.getSnapshot().messages.map(({ text }) => text)).toEqual(["a secret of Ada", "You said: a secret of Ada"]);
  chat.close();
});

test("a conversation without permission to follow events requests few tickets while a reply grows", async () => {
  let tickets = 0;
  const counting: typeof fetch = (input, init) => {
    tickets += Number(String(input).endsWith("/api/ws/tickets"));
    return fetch(input, init);
  };
  const getToken = () => issuer.token(60, "chat:write conversations:read");
  const client = createClient({ url: service.url, getToken, fetch: counting, webSocket: WebSocket });
  const chat = client.conversation({ agentId, key: "without-events" });
  await chat.load();
  await chat.send("words 30 20");
  expect(chat.getSnapshot()).toMatchObject({ status: "ready", messages: [{ role: "user" }, { status: "complete" }] });
  // At most one for the agent, and one for the conversation that it has created.
  expect(tickets).toBeGreaterThan(0);
  expect(tickets).toBeLessThanOrEqual(2);
  chat.close();
});

test("a signal ends a request while no token arrives, and `close` a conversation", async () => {
  const client = createClient({ url: service.url, getToken: () => new Promise(() => {}) });
  await expect(client.agents.list({}, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: "TimeoutError" });
  const chat = client.conversation({ agentId, key: "no-token" });
  const [loaded, sent] = [chat.load(), chat.send("Hello")];
  chat.close();
  await Promise.all([loaded, sent]);
  expect(chat.getSnapshot().status).not.toBe("failed");
});

test("a message that is written while no token arrives survives a reload of a page that had one", async () => {
  let isSignedOut = false;
  const getToken = () => {
    if (isSignedOut) throw new Error("signed out");
    return issuer.token(60);
  };
  const expiring: typeof fetch = async (input, init) => (isSignedOut ? new Response("{}", { status: 401 }) : fetch(input, init));
  const kept = memoryStorage();
  const open = () =>
    createClient({ url: service.url, getToken, fetch: expiring, retries: 0 }).conversation({ agentId, key: "signed-out", storage: kept });
  const page = open();
  await page.load();
  isSignedOut = true;
  await page.send("Hello");
  expect(page.getSnapshot()).toMatchObject({ status: "failed", error: { message: "No token: signed out" } });
  await page.send("Again");
  page.close();
  isSignedOut = false;
  const reloaded = open();
  await reloaded.load();
  expect(reloaded.getSnapshot().messages.map(({ text }) => text)).toEqual(["Hello", "You said: Hello", "Again", "You said: Again"]);
});
