import { afterAll, beforeAll, expect, test } from "vitest";
import { type ChatMessage, ConnectionError, createClient, ProblemError, randomId, type TurnPart } from "../src/index.js";
import { type Service, startService } from "./service.js";

let service: Service;
let agentId: string;

beforeAll(async () => {
  service = await startService();
  agentId = await service.newAgent();
});
afterAll(() => service.stop());

const direct = () => createClient({ url: service.url, apiKey: service.admin });
const throughRelay = () => createClient({ url: service.relay.url, apiKey: service.admin });

const partsOf = async (parts: AsyncIterable<TurnPart>): Promise<TurnPart[]> => {
  const all = [];
  for await (const part of parts) all.push(part);
  return all;
};

const textOf = (parts: TurnPart[]): string => parts.map((part) => (part.type === "reply.delta" ? part.text : "")).join("");

const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index + 1} `).join("");

test("a turn is streamed to its end", async () => {
  const parts = await partsOf(direct().chat({ agentId, message: "Hello" }));
  expect(parts.map(({ type }) => type)).toEqual(["turn.started", "reply.delta", "turn.completed"]);
  expect(textOf(parts)).toBe("You said: Hello");
  expect(parts.at(-1)).toMatchObject({ message: "You said: Hello", finishReason: "stop" });
});

test("the turn in progress of a conversation is followed from its beginning", async () => {
  const sent = direct().chat({ agentId, message: "hold" });
  let { value: part } = await sent.next();
  while (part?.type !== "reply.delta") ({ value: part } = await sent.next());
  const { data } = await direct().conversations.list({ agentId, limit: 1 });
  const followed = partsOf(direct().follow(data[0]?.id ?? ""));
  setTimeout(() => service.model.release(), 200);
  expect(textOf(await followed)).toBe("First half, second half.");
  await partsOf(sent);
});

test("a failed turn ends with its problem", async () => {
  const parts = await partsOf(direct().chat({ agentId, message: "fail 3" }));
  expect(parts.at(-1)).toMatchObject({ type: "turn.failed", error: { code: "engine_failed", retryable: true } });
});

test("a cut at every part leaves one turn with the whole text", async () => {
  const client = throughRelay();
  for (let position = 1; position <= 12; position += 1) {
    const agent = await service.newAgent();
    service.relay.cutAfter(position);
    const parts = await partsOf(client.chat({ agentId: agent, message: "tools 10 1" }));
    const calls = parts.filter(({ type }) => type === "tool.returned");
    expect(textOf(parts)).toBe(`Let me see.\n\nIt is 408.${words(10).slice(words(3).length)}`);
    expect(calls).toHaveLength(2);
    expect(parts.at(-1)).toMatchObject({ type: "turn.completed", message: textOf(parts) });
    await expect.poll(() => service.turns(agent)).toEqual(["completed"]);
  }
  service.relay.cutAfter(Infinity);
});

test("the text of a part arrives unchanged, a byte order mark at its beginning included", async () => {
  const part = (data: object) => `data: ${JSON.stringify({ turnId: "1", ...data })}\n\n`;
  const deltas = ["\uFEFF", "\uFEFFa"].map((text, index) => part({ type: "reply.delta", from: 3 * index, to: 3 + 4 * index, text }));
  const answer = async () => new Response([...deltas, part({ type: "turn.completed", message: "\uFEFF\uFEFFa" })].join(""));
  const client = createClient({ url: "http://service", apiKey: "key", fetch: answer });
  expect(textOf(await partsOf(client.chat({ agentId, message: "Hello" })))).toBe("\uFEFF\uFEFFa");
});

test("each piece of reasoning arrives once, though a connection was lost, and anew with another attempt", async () => {
  const data = (part: object) => `data: ${JSON.stringify({ turnId: "1", ...part })}\n\n`;
  const piece = (type: string, from: number, text: string, attempt?: number) => data({ type, from, to: from + text.length, text, attempt });
  const streams = [
    [piece("reasoning.delta", 0, "Hm"), piece("reply.delta", 0, "A")],
    [piece("reasoning.delta", 0, "Hmm"), piece("reply.delta", 0, "A"), piece("reasoning.delta", 3, "."), piece("reply.delta", 1, "B")],
    [piece("reasoning.delta", 0, "So", 2), piece("reply.delta", 0, "C", 2), data({ type: "turn.completed", message: "C" })],
  ];
  const answer = async () => new Response(streams.shift()!.join(""));
  const client = createClient({ url: "http://service", apiKey: "key", fetch: answer });
  const parts = await partsOf(client.chat({ agentId, message: "Hello" }));
  const deltas = parts.flatMap((part) => (/delta/.test(part.type) ? [(part as { text: string }).text] : []));
  expect(deltas).toEqual(["Hm", "A", "m", ".", "B", "So", "C"]);
});

test("a client that gives up reports it", async () => {
  const client = createClient({ url: "http://127.0.0.1:9", apiKey: "key", retries: 1 });
  await expect(partsOf(client.chat({ agentId, message: "Hello" }))).rejects.toThrow(ConnectionError);
});

test("an ephemeral chat that is cut is an error", async () => {
  service.relay.cutAfter(2);
  const message: ChatMessage = { agentId, message: "words 10 5", store: false };
  await expect(partsOf(throughRelay().chat(message))).rejects.toThrow(ConnectionError);
  service.relay.cutAfter(Infinity);
});

test("an ephemeral chat with a key continues after cuts, and its answer is kept", async () => {
  const message: ChatMessage = { agentId, message: "words 10 5", store: false };
  const idempotencyKey = randomId();
  service.relay.cutAfter(2);
  const received = textOf(await partsOf(throughRelay().chat(message, { idempotencyKey })));
  service.relay.cutAfter(Infinity);
  expect(received).toBe(words(10));
  expect(textOf(await partsOf(direct().chat(message, { idempotencyKey })))).toBe(received);
});

test("a rejected message is a problem", async () => {
  const error = await partsOf(direct().chat({ agentId, message: "" })).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(ProblemError);
  expect(error).toMatchObject({ code: "validation_failed", status: 422 });
});

test("a reader that stops early closes the stream, and the turn continues", async () => {
  const agent = await service.newAgent();
  for await (const part of direct().chat({ agentId: agent, message: "words 20 5" })) {
    if (part.type === "reply.delta") break;
  }
  await expect.poll(() => service.turns(agent)).toEqual(["completed"]);
});
