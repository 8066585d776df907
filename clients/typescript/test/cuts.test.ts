// Quality 2: no cut of a connection leaves a gap or a repetition, whichever transport is cut.
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket as NodeWebSocket } from "ws";
import { type Conversation, type ConversationMessage, createClient, type LogEvent } from "../src/index.js";
import { startChaos } from "./chaos.js";
import { type Service, startService } from "./service.js";

/** The number of cuts of each transport: 500 in a full run. */
const CUTS = Number(process.env.CUTS ?? 60);
/** The number of clients that are cut at the same time. */
const CLIENTS = 20;

let sockets = 0;
class CountedWebSocket extends NodeWebSocket {
  constructor(url: string, protocol: string) {
    super(url, protocol);
    sockets += 1;
  }
}
const WebSocket = CountedWebSocket as unknown as typeof globalThis.WebSocket;
let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** Follows the log from `since` through a relay until it has cut often enough and `seq` has arrived. */
const follow = async (seed: number, webSocket: typeof WebSocket | null, since: number, last: () => number) => {
  const relay = await startChaos(service.url, seed);
  relay.cutsLeft = CUTS / CLIENTS;
  const client = createClient({ url: relay.url, apiKey: service.admin, webSocket });
  const received: LogEvent[] = [];
  let reloads = 0;
  const events = client.events({ since, channels: ["tenant"], onReload: () => void (reloads += 1) });
  for await (const event of events) {
    received.push(event);
    if (relay.cutsLeft === 0 && event.seq >= last()) break;
  }
  relay.stop();
  expect(reloads).toBe(0);
  return { received, cuts: relay.cuts };
};

test.each([
  ["server-sent events", null],
  ["sockets", WebSocket],
])("cuts of %s at random points leave the log as it is", { timeout: 300_000 }, async (_, webSocket) => {
  const direct = createClient({ url: service.url, apiKey: service.admin });
  const { headSeq } = await direct.events.list({});
  let last = Infinity;
  let ended = 0;
  const followers = Array.from({ length: CLIENTS }, async (_, index) => {
    const followed = await follow(1000 + index, webSocket, headSeq, () => last);
    ended += 1;
    return followed;
  });
  const write = async () => {
    // Every client has read the past, and waits for new events.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    // The log grows until every client has been cut often enough.
    while (ended < CLIENTS) {
      // Line separators, which are no line ends of server-sent events.
      await direct.agents.create({ name: "x\u2028\u2029".repeat(1 + (ended % 20)) });
      ({ headSeq: last } = await direct.events.list({}));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const [results] = await Promise.all([Promise.all(followers), write()]);
  const log: LogEvent[] = [];
  for (let since = headSeq, hasMore = true; hasMore; ) {
    const page = await direct.events.list({ since, limit: 100 });
    log.push(...page.data);
    ({ nextSince: since, hasMore } = page);
  }
  // Clients whose first sockets are all cut use server-sent events.
  if (webSocket) expect(sockets).toBeGreaterThan(0.8 * CUTS);
  expect(results.reduce((sum, { cuts }) => sum + cuts, 0)).toBe(CUTS);
  for (const { received } of results) expect(received).toEqual(log.slice(0, received.length));
});

test("cuts of a socket leave the replies as they are that a page follows", async () => {
  const agentId = await service.newAgent();
  const whole = Array.from({ length: 30 }, (_, index) => `word${index + 1} `).join("");
  const run = async (seed: number) => {
    const relay = await startChaos(service.url, seed, 3_000);
    const pages = [service.url, relay.url].map((url) =>
      createClient({ url, apiKey: service.admin, webSocket: WebSocket }).conversation({ agentId, key: `followed-${seed}` }),
    );
    const [sender, follower] = pages as [Conversation, Conversation];
    const shown: ConversationMessage[] = [];
    follower.subscribe(() => shown.push(...follower.getSnapshot().messages.slice(1)));
    await Promise.all([sender.load(), follower.load()]);
    relay.cutsLeft = 5;
    await sender.send("words 30 15");
    await expect.poll(() => shown.at(-1), { timeout: 20_000 }).toMatchObject({ status: "complete", text: whole });
    for (const { text, status } of shown) expect(status === "complete" ? whole === text : whole.startsWith(text)).toBe(true);
    for (const page of pages) page.close();
    relay.stop();
    return relay.cuts;
  };
  const cuts = await Promise.all(Array.from({ length: 10 }, (_, index) => run(2000 + index)));
  expect(cuts.reduce((sum, count) => sum + count)).toBeGreaterThan(10);
});
