// The requests of the client to regions. Regions themselves are tested with the service.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../src/index.js";
import { nearestRegion } from "../src/regions.js";

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
  const getToken = () => `token ${(tokens += 1)}`;
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
