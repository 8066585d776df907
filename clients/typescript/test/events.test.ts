import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient, type LogEvent, ProblemError } from "../src/index.js";
import { type Service, startService } from "./service.js";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const open = (url = service.url): Client => createClient({ url, apiKey: service.admin });

/** Returns the events up to the creation of the agent with this name. */
const upTo = async (events: AsyncIterable<LogEvent>, name: string): Promise<LogEvent[]> => {
  const all: LogEvent[] = [];
  for await (const event of events) {
    all.push(event);
    if (event.type === "agent.created" && "agent" in event.data && event.data.agent.name === name) return all;
  }
  throw new Error("the stream has ended");
};

test("events follow a position, and are filtered", async () => {
  const client = open();
  await client.agents.create({ name: "first" });
  const [all, created] = [upTo(client.events({ since: 0 }), "last"), upTo(client.events({ since: 0, types: ["agent.created"] }), "last")];
  const agent = await client.agents.create({ name: "second" });
  await client.agents.delete(agent.id);
  await client.agents.create({ name: "last" });
  expect((await all).map(({ type }) => type)).toEqual(["agent.created", "agent.created", "agent.deleted", "agent.created"]);
  expect((await created).map(({ seq }) => seq)).toEqual([1, 2, 4]);
  const page = await client.events.list({ since: 0 });
  expect(page.data.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
});

test("cuts at any position leave no gap and no repetition", async () => {
  const { headSeq } = await open().events.list({});
  for (let position = 1; position <= 30; position += 1) {
    const name = `cut ${position}`;
    service.relay.cutAfter(1 + (position % 5));
    const events = upTo(open(service.relay.url).events({ since: headSeq }), name);
    for (let number = 0; number < 3; number += 1) await open().agents.create({ name: `before ${position}` });
    await open().agents.create({ name });
    const seqs = (await events).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => headSeq + 1 + index));
  }
  service.relay.cutAfter(Infinity);
});

test("a restart of the service leaves no gap", async () => {
  const { headSeq } = await open().events.list({});
  const events = upTo(open().events({ since: headSeq }), "after the restart");
  await open().agents.create({ name: "before the restart" });
  await service.restart();
  await open().agents.create({ name: "after the restart" });
  expect((await events).map(({ seq }) => seq)).toEqual([headSeq + 1, headSeq + 2]);
});

test("a position that the log does not reach is reported", async () => {
  let reloads = 0;
  const events = upTo(open().events({ since: 1_000_000, onReload: () => void (reloads += 1) }), "reloaded");
  await expect.poll(() => reloads).toBe(1);
  await open().agents.create({ name: "reloaded" });
  expect(await events).toHaveLength(1);
});

test("a rejected request ends the events, and so does its signal", async () => {
  const stranger = createClient({ url: service.url, apiKey: "wrong" });
  await expect(upTo(stranger.events(), "never")).rejects.toThrow(ProblemError);
  const signal = AbortSignal.timeout(200);
  await expect(upTo(open().events({ signal }), "never")).rejects.toMatchObject({ name: "TimeoutError" });
});
