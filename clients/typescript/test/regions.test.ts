// The requests of the client to regions. Regions themselves are tested with the service.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../src/index.js";
import { inNearestRegion, nearestRegion } from "../src/regions.js";

const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const serve = async (answer: Answer): Promise<string> => {
  const server = createServer(answer);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  stops.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const json = (response: ServerResponse, body: object): void => {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(body));
};

test("the fastest of the reachable regions is chosen, with one token", async () => {
  const regionWith = (delay: number) => serve((_, response) => void setTimeout(() => json(response, {}), delay));
  const [far, near] = [await regionWith(300), await regionWith(0)];
  const urls = [far, "http://127.0.0.1:9", near];
  const home = await serve(({ url }, response) => {
    if (url === "/api/regions") json(response, { data: urls.map((it) => ({ url: it, isHome: it === far })) });
  });
  let tokens = 0;
  const getToken = () => `token-${(tokens += 1)}`;
  expect(await nearestRegion({ url: home, getToken })).toBe(near);
  expect(tokens).toBe(1);
  urls.length = 2;
  expect(await nearestRegion({ url: home, getToken })).toBe(far);
  urls.splice(0, 1);
  expect(await nearestRegion({ url: home, getToken })).toBe(home);
});

test("the newest position goes to far regions alone", async () => {
  const received: (string | undefined)[] = [];
  let isFar = false;
  const url = await serve((request, response) => {
    received.push(request.headers["x-consistency"] as string | undefined);
    if (isFar) response.setHeader("X-Served-By", "replica");
    if (request.method === "POST") response.setHeader("X-Consistency", "7");
    if (request.url?.startsWith("/api/events")) return response.end('id: 9\ndata: {"type": "agent.created"}\n\n');
    json(response, { data: [] });
  });
  const client = createClient({ url, apiKey: "key", webSocket: null });
  await client.agents.create({ name: "Ada" });
  await client.agents.list();
  isFar = true;
  await client.agents.list();
  await client.agents.list();
  for await (const event of client.events({ since: 0 })) {
    expect(event.type).toBe("agent.created");
    break;
  }
  await client.agents.list();
  expect(received).toEqual([undefined, undefined, undefined, "7", "7", "9"]);
});

test.each([
  ["has lost the home region", 503, { code: "home_unavailable", retryable: true }],
  ["is down behind its proxy", 502, {}],
])("a client leaves a region that %s, with its position", async (_, status, problem) => {
  let isCutOff = false;
  const received: (string | undefined)[] = [];
  const delayed = (delay: number, answer: Answer) => serve((request, response) => void setTimeout(() => answer(request, response), delay));
  const near = await delayed(0, (request, response) => {
    // It answers pings by itself.
    if (isCutOff && request.url !== "/api/ping") response.statusCode = status;
    response.setHeader("X-Consistency", "7");
    json(response, { ...problem, data: ["near"] });
  });
  const far = await delayed(300, (request, response) => {
    if (request.url === "/api/agents") received.push(request.headers["x-consistency"] as string | undefined);
    json(response, { data: ["far"] });
  });
  const home = await serve((_, response) => {
    if (isCutOff) response.statusCode = 503;
    json(response, { data: [{ url: near }, { url: far }] });
  });
  const client = createClient(await inNearestRegion({ url: home, apiKey: "key", webSocket: null }));
  expect((await client.agents.list()).data).toEqual(["near"]);
  isCutOff = true;
  expect((await client.agents.list()).data).toEqual(["far"]);
  expect(received).toEqual(["7"]);
});

test("a client stays in a region whose agents or models fail, and returns if all regions have lost home", async () => {
  let code = "engine_unavailable";
  const asked: string[] = [];
  const regionNamed = (name: string, delay: number) =>
    serve((request, response) => {
      if (request.url === "/api/ping") return void setTimeout(() => json(response, {}), delay);
      asked.push(name);
      response.statusCode = 503;
      json(response, { code, retryable: false });
    });
  const [near, far] = [await regionNamed("near", 0), await regionNamed("far", 300)];
  const home = await serve((_, response) => json(response, { data: [{ url: far }, { url: near }] }));
  const options = await inNearestRegion({ url: home, apiKey: "key", webSocket: null, retries: 0 });
  const client = createClient(options);
  const fail = () => client.agents.list().catch(() => {});
  await fail();
  await fail();
  expect(asked).toEqual(["near", "near"]);
  code = "home_unavailable";
  await fail();
  await expect.poll(() => options.url).toBe(far);
  await fail();
  await expect.poll(() => options.url).toBe(near);
});

test("a socket that is closed with 4205 is replaced in another region", async () => {
  let isCutOff = false;
  const regionNamed = (delay: number, answer: Answer) =>
    serve((request, response) => void setTimeout(() => answer(request, response), request.url === "/api/ping" ? delay : 0));
  const page = { data: [], nextSince: 0, hasMore: false };
  const near = await regionNamed(0, (_, response) => {
    if (isCutOff) response.statusCode = 503;
    json(response, { code: "home_unavailable", retryable: true, ticket: "a", ...page });
  });
  const far = await regionNamed(300, (_, response) => json(response, { ticket: "b", ...page }));
  const home = await serve((_, response) => json(response, { data: [{ url: near }, { url: far }] }));
  const opened: string[] = [];
  const webSocket = class {
    onopen?: () => void;
    onclose?: () => void;
    onmessage?: (message: { data: string }) => void;
    constructor(url: string) {
      opened.push(url);
      setTimeout(() => this.onopen?.());
    }
    send(text: string) {
      const { id, channel } = JSON.parse(text);
      this.#receive({ type: "reply", id, ok: true, result: { channel, recovered: true, headSeq: 0, channels: [] } });
      if (!channel || opened.length > 1) return;
      isCutOff = true;
      this.#receive({ type: "goodbye", code: 4205, reason: "use_another_region", reconnectAfterMs: 0 });
      setTimeout(() => this.onclose?.());
    }
    close() {}
    #receive(frame: object) {
      setTimeout(() => this.onmessage?.({ data: JSON.stringify(frame) }));
    }
  } as unknown as typeof WebSocket;
  const client = createClient(await inNearestRegion({ url: home, apiKey: "key", webSocket }));
  const aborting = new AbortController();
  stops.push(() => aborting.abort());
  const events = client.events({ since: 0, channels: ["tenant"], signal: aborting.signal });
  events.next().catch(() => {});
  await expect.poll(() => opened.at(-1), { timeout: 5_000 }).toBe(`${far.replace("http", "ws")}/api/ws?ticket=b`);
  expect(opened[0]).toBe(`${near.replace("http", "ws")}/api/ws?ticket=a`);
});

test("the position of the last part of a turn is the newest", async () => {
  const received: (string | undefined)[] = [];
  const url = await serve((request, response) => {
    response.setHeader("X-Served-By", "home");
    if (request.method === "POST") {
      response.setHeader("X-Consistency", "7");
      return response.end('data: {"type": "turn.started", "turnId": "a"}\n\ndata: {"type": "turn.completed", "turnId": "a", "seq": 9}\n\n');
    }
    received.push(request.headers["x-consistency"] as string | undefined);
    json(response, { data: [] });
  });
  const client = createClient({ url, apiKey: "key" });
  for await (const part of client.chat({ agentId: "a", message: "Hello" })) if (part.type !== "turn.started") await client.agents.list();
  expect(received).toEqual(["9"]);
});
