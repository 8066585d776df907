// The time that the protocol adds to `POST /api/chat` with a stream: `node speed.mjs BINARY
// [SECONDS]`. 32 connections, each with a conversation of its own, and the engine `rules`.
import { connect } from "node:net";
import { startService } from "../service.mjs";

const [, seconds = "5"] = process.argv.slice(2);
const service = await startService();
const agent = await service.newAgent({ engine: "rules" });
const { hostname, port } = new URL(service.url);
const CONNECTIONS = 32;
let messages = 0;

const post = (path, body, headers = {}) => {
  const text = JSON.stringify(body);
  const all = {
    Host: `${hostname}:${port}`,
    Authorization: `Bearer ${service.admin}`,
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(text),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${text}`;
};

// The requests to compare, for a conversation.
const ways = {
  "api/chat": (id) =>
    post("/api/chat", { agentId: agent, conversationKey: `a-${id}`, message: "Hello", stream: true }, { "Idempotency-Key": `k${(messages += 1)}` }),
  "api/chat, without key": (id) =>
    post("/api/chat", { agentId: agent, conversationKey: `b-${id}`, message: "Hello", stream: true }),
  "ai-sdk": (id) => {
    const message = { id: `m${(messages += 1)}`, role: "user", parts: [{ type: "text", text: "Hello" }] };
    return post(`/ai-sdk/agents/${agent}/chat`, { id: `c-${id}`, messages: [message], trigger: "submit-message" });
  },
};

// Sends requests on one connection until the time is over, and adds the milliseconds to the first delta.
const talk = (request, id, until, firsts) =>
  new Promise((ended, failed) => {
    const socket = connect(port, hostname);
    socket.setNoDelay(true);
    let received = "";
    let sentAt = 0;
    let isFirst = true;
    const send = () => {
      received = "";
      isFirst = true;
      sentAt = performance.now();
      socket.write(request(id));
    };
    socket.on("error", failed);
    socket.on("data", (data) => {
      received += data.toString("latin1");
      if (isFirst && /reply\.delta|text-delta/.test(received)) {
        isFirst = false;
        firsts.push(performance.now() - sentAt);
      }
      if (!received.endsWith("0\r\n\r\n")) return;
      if (isFirst) return failed(new Error(received));
      if (performance.now() < until) return send();
      socket.end();
      ended();
    });
    socket.on("connect", send);
  });

const measure = async (name, round, milliseconds) => {
  const firsts = [];
  const until = performance.now() + milliseconds;
  const all = Array.from({ length: CONNECTIONS }, (_, n) => talk(ways[name], `${round}-${n}`, until, firsts));
  await Promise.all(all);
  return firsts;
};

// In turn, so that all see the same machine.
const results = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
for (let round = 0; round < 6; round += 1) {
  for (const name of Object.keys(ways)) {
    const firsts = await measure(name, round, (1000 * Number(seconds)) / 6);
    if (round > 0) results[name].push(...firsts);
  }
}
const perSecond = (firsts) => firsts.length / ((Number(seconds) * 5) / 6);
const median = (firsts) => firsts.sort((one, other) => one - other)[Math.floor(firsts.length / 2)];
for (const [name, firsts] of Object.entries(results)) {
  const ratio = perSecond(firsts) / perSecond(results["api/chat"]);
  console.log(`${name}: ${perSecond(firsts).toFixed(0)}/s (${ratio.toFixed(2)}), first delta ${median(firsts).toFixed(2)} ms`);
}
await service.stop();
