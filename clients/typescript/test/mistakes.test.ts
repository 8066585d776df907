// Mistakes of a program, and parts that its runtime lacks: each is told in a sentence with the remedy, at once.
import { createServer } from "node:http";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { type ClientOptions, createClient, ProblemError } from "../src/index.js";

const url = "https://agents.example.org";
const name = { agentId: "agent", key: "key" };
let requests = 0;
/** Answers as a service without conversations, whose turns have one part. */
const service: typeof fetch = async (_input, init) => {
  requests += 1;
  if (init?.method === "POST") return new Response('data: {"type":"turn.completed","turnId":"1","message":"Hello"}\n\n');
  return Response.json({ data: [], headSeq: 0 });
};
const open = (more: Partial<ClientOptions> = {}) =>
  createClient({ url, getToken: () => "token", fetch: service, webSocket: null, ...more });
const advice = "Load a polyfill, or correct the program: ";
/** The error for a sentence, which pages show, too. */
const told = (detail: string) => ({ name: "ConnectionError", code: "offline", retryable: false, title: detail, detail, message: detail });

beforeEach(() => {
  requests = 0;
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Removes a global variable, as in a runtime that has never had it. */
const remove = (variable: string): void => {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, variable)!;
  Reflect.deleteProperty(globalThis, variable);
  onTestFinished(() => void Object.defineProperty(globalThis, variable, descriptor));
};

/** Waits for the state that a conversation shows after a request. */
const stateAfter = async (options: Partial<ClientOptions>, act: "load" | "send") => {
  const chat = open(options).conversation(name);
  await (act === "load" ? chat.load() : chat.send("Hello"));
  chat.close();
  return chat.getSnapshot();
};

test.each(["127.0.0.1:8080", "localhost:8080", "agents.example.org", "http://", "http://no address", "", "/agents", undefined])(
  "an address without a scheme or a host is refused at once: %s",
  (given) => {
    expect(() => open({ url: given as string })).toThrow(TypeError);
    expect(() => open({ url: given as string })).toThrow("`url` needs a scheme, https or http");
  },
);

test.each([
  ["", "https://page.example.org/api/engines"],
  ["/agents/", "https://page.example.org/agents/api/engines"],
  [url, `${url}/api/engines`],
])("an empty address is the origin of the page, and a path is one of it: %s", async (given, requested) => {
  vi.stubGlobal("location", { origin: "https://page.example.org" });
  const urls: unknown[] = [];
  const recording: typeof fetch = (input, init) => {
    urls.push(input);
    return service(input, init);
  };
  await open({ url: given, fetch: recording }).engines.list();
  expect(urls).toEqual([requested]);
});

test("a runtime without `fetch` is told", async () => {
  remove("fetch");
  let calls = 0;
  const getToken = () => String((calls += 1));
  const error = told(`${advice}fetch is not defined`);
  await expect(open({ fetch: undefined, getToken }).engines.list()).rejects.toMatchObject(error);
  // It is not repeated.
  expect(calls).toBe(1);
  expect(await stateAfter({ fetch: undefined }, "load")).toMatchObject({ status: "failed", error });
});

test("a mistake in a `fetch` of the program is told", async () => {
  const broken = () => Promise.reject(new ReferenceError("requset is not defined"));
  await expect(open({ fetch: broken }).engines.list()).rejects.toMatchObject(told(`${advice}requset is not defined`));
});

test.each([undefined, { pipe() {} }])("a `fetch` without streams is told: the body is %j", async (value) => {
  const bodyless: typeof fetch = async (input, init) => Object.defineProperty(await service(input, init), "body", { value });
  const error = told(`${advice}this \`fetch\` has no streams, unlike \`expo/fetch\`.`);
  await expect(open({ fetch: bodyless }).chat({ agentId: "agent", message: "Hello" }).next()).rejects.toMatchObject(error);
  await expect(open({ fetch: bodyless }).events().next()).rejects.toMatchObject(error);
  requests = 0;
  expect(await stateAfter({ fetch: bodyless }, "send")).toMatchObject({ status: "failed", error });
  expect(requests).toBe(1);
});

test("a runtime without `TextDecoder` is told", async () => {
  remove("TextDecoder");
  const error = told(`${advice}TextDecoder is not defined`);
  await expect(open().chat({ agentId: "agent", message: "Hello" }).next()).rejects.toMatchObject(error);
  expect(requests).toBe(1);
});

test("pages and proxies of others are told, and repeated: a network may ask to sign in first", async () => {
  const page = createServer((request, response) => {
    requests += 1;
    const [status, type] = request.url === "/missing/api/engines" ? [404, "text/plain"] : [200, "text/html"];
    response.writeHead(status as number, { "Content-Type": type }).end("<!doctype html>");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void page.close());
  const { port } = await new Promise<{ port: number }>((resolve) =>
    page.on("listening", () => resolve(page.address() as { port: number })),
  );
  const failing = (path: string) => open({ url: `http://127.0.0.1:${port}${path}`, fetch: undefined, retries: 1 }).engines.list();
  const detail = (status: string) => `HTTP ${status}: is \`url\` the address of Agent Service?`;
  await expect(failing("")).rejects.toMatchObject({
    name: "ConnectionError",
    retryable: true,
    title: "The service cannot be reached.",
    detail: detail("200 with text/html"),
  });
  await expect(failing("/missing")).rejects.toMatchObject({ retryable: true, detail: detail("404 with text/plain") });
  expect(requests).toBe(4);
});

test("a problem of a proxy, without a code, is a lost connection", async () => {
  for (const problem of [{}, { type: "about:blank", title: "Bad Gateway", status: 502 }]) {
    const proxy: typeof fetch = async () =>
      new Response(JSON.stringify(problem), { status: 502, headers: { "Content-Type": "application/problem+json" } });
    await expect(open({ fetch: proxy, retries: 0 }).engines.list()).rejects.toMatchObject({
      name: "ConnectionError",
      retryable: true,
      title: "The service cannot be reached.",
    });
  }
});

test("a message without a turn is lost, and not sent", async () => {
  for (const response of [() => new Response(null, { status: 204 }), () => new Response("")]) {
    const chat = open({ fetch: async (input, init) => (init?.method === "POST" ? response() : service(input, init)), retries: 0 }).chat({
      agentId: "agent",
      message: "Hello",
    });
    await expect(chat.next()).rejects.toMatchObject({ name: "ConnectionError", message: "the connection was lost" });
  }
});

test("parts of a newer service change nothing", async () => {
  const parts = [
    { type: "turn.started", turnId: "1", messageId: "2", replyId: "3" },
    { type: "heartbeat" },
    { type: "turn.paused", turnId: "1" },
    { type: "reply.delta", turnId: "1", from: 0, to: 2, text: "He" },
    { type: "turn.completed", turnId: "1", message: "Hello" },
  ];
  const stream = parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join("");
  const newer: typeof fetch = async (input, init) => (init?.method === "POST" ? new Response(stream) : service(input, init));
  const { status, messages } = await stateAfter({ fetch: newer }, "send");
  expect(status).toBe("ready");
  expect(messages.map(({ text }) => text)).toEqual(["Hello", "Hello"]);
});

test.each([undefined, null, "", { token: "token" }, 5, "eyJ…", "a b", "a\nb"])(
  "a `getToken` that returns no token is told: %j",
  async (token) => {
    let calls = 0;
    const getToken = () => {
      calls += 1;
      return token as string;
    };
    const error = told(`${advice}\`getToken\` returned no token.`);
    await expect(open({ getToken }).engines.list()).rejects.toMatchObject(error);
    expect(calls).toBe(1);
    expect(requests).toBe(0);
    expect(await stateAfter({ getToken }, "send")).toMatchObject({ status: "failed", error });
  },
);

test("after another user has signed in, the remedy is told", async () => {
  const tokenOf = (sub: string) => `e30.${btoa(JSON.stringify({ sub }))}.`;
  let user = "ada";
  const rejecting: typeof fetch = async (input, init) => (user === "ada" ? service(input, init) : new Response("{}", { status: 401 }));
  const client = open({ getToken: () => tokenOf(user), fetch: rejecting, retries: 0 });
  await client.conversation(name).load();
  user = "grace";
  const error = { title: "This page belongs to another user.", detail: "`getToken` returned another user's token: create another client." };
  await expect(client.engines.list()).rejects.toMatchObject(error);
});

test("what a program passes wrongly is thrown as it is, and not repeated", async () => {
  const metadata: Record<string, unknown> = {};
  metadata.own = metadata;
  const message = { agentId: "agent", message: "Hello", metadata: metadata as never };
  const begin = performance.now();
  await expect(open().chat(message).next()).rejects.toThrow(TypeError);
  // Three repetitions would take at least 875 milliseconds.
  expect(performance.now() - begin).toBeLessThan(800);
  expect(requests).toBe(0);
});

test("the reason for which `fetch` fails is told", async () => {
  await expect(open({ retries: 0 }).agents.list({}, { headers: { "X-Header": "a\nb" } })).rejects.toThrow(
    `${url} cannot be reached (TypeError: `,
  );
});

test("an address that is none after all is a lost connection on pages, too", async () => {
  vi.stubGlobal("location", { origin: url });
  vi.stubGlobal("origin", url);
  vi.stubGlobal("navigator", { onLine: true });
  const failing = (address: string) => open({ url: address, fetch: undefined, retries: 0 }).engines.list();
  const hint = `, or does not allow ${url} in SERVER__ALLOWED_ORIGINS`;
  await expect(failing("http://localhost:80800")).rejects.toMatchObject({
    name: "ConnectionError",
    detail: expect.stringContaining(`cannot be reached${hint} (TypeError: `),
  });
  await expect(open({ url: `${url}:8443`, fetch: () => Promise.reject(new TypeError()), retries: 0 }).engines.list()).rejects.toThrow(hint);
  await expect(open({ url: `${url}/agents`, fetch: () => Promise.reject(new TypeError()), retries: 0 }).engines.list()).rejects.toThrow(
    `${url}/agents cannot be reached (TypeError`,
  );
});

test("problems of the service stay what they are", async () => {
  const problem = { type: "", title: "Title.", detail: "Detail.", status: 404, code: "agent_not_found", retryable: false };
  const missing: typeof fetch = async () =>
    new Response(JSON.stringify(problem), { status: 404, headers: { "Content-Type": "application/problem+json" } });
  await expect(open({ fetch: missing }).agents.get("id")).rejects.toThrow(ProblemError);
});
