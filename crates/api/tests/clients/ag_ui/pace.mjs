// The time that the protocol adds to `POST /api/chat` with `stream: true`: median time to the first
// delta on one connection, and replies per second on 32. Rounds of both alternate.

import { Agent, request } from 'node:http';

import { end } from '../cases.mjs';
import { startService } from '../service.mjs';

const service = await startService();
const rules = await service.newAgent({ engine: 'rules' });
const { hostname, port } = new URL(service.url);
const seconds = Number(process.argv[3] ?? 5);
let number = 0;
const plain = () => ({
  path: '/api/chat',
  body: { agentId: rules, message: 'Hello', stream: true },
  delta: 'reply.delta',
});
const kinds = {
  '/api/chat': plain,
  '/api/chat, named': () => {
    const { path, body, delta } = plain();
    const id = `n${(number += 1)}`;
    const more = { conversationKey: id, clientMessageId: id };
    return { path, body: { ...body, ...more }, delta, headers: { 'idempotency-key': id } };
  },
  '/ag-ui': () => {
    const id = `a${(number += 1)}`;
    const messages = [{ id, role: 'user', content: 'Hello' }];
    const body = { threadId: id, runId: id, messages, tools: [], context: [], state: {} };
    return { path: `/ag-ui/agents/${rules}/run`, body, delta: 'TEXT_MESSAGE_CONTENT' };
  },
};

/** Sends one message, and returns the milliseconds until its first delta. */
function send(agent, { path, body, delta, headers }) {
  const text = JSON.stringify(body);
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request({
      agent, hostname, port, path, method: 'POST',
      headers: {
        ...service.headers, ...headers,
        'content-type': 'application/json', 'content-length': Buffer.byteLength(text),
      },
    }, (response) => {
      let received = '';
      let first;
      response.setEncoding('utf8').on('data', (chunk) => {
        received += chunk;
        if (first === undefined && received.includes(delta)) first = performance.now() - began;
      });
      response.on('end', () => (first === undefined ? reject(new Error(received)) : resolve(first)));
    });
    sent.on('error', reject).end(text);
  });
}

async function round(make, connections, ms) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times = [];
  const began = performance.now();
  const loop = async () => {
    while (performance.now() - began < ms) times.push(await send(agent, make()));
  };
  await Promise.all(Array.from({ length: connections }, loop));
  const elapsed = performance.now() - began;
  agent.destroy();
  return { times, rate: (times.length / elapsed) * 1_000 };
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const results = Object.fromEntries(Object.keys(kinds).map((name) => [name, { first: [], rate: [] }]));
for (let i = 0; i <= 5; i += 1) {
  for (const [name, make] of Object.entries(kinds)) {
    const alone = await round(make, 1, (seconds * 1_000) / 5);
    const many = await round(make, 32, (seconds * 1_000) / 5);
    if (i === 0) continue; // Everything is cold.
    results[name].first.push(...alone.times);
    results[name].rate.push(many.rate);
  }
}
const [{ first, rate }] = Object.values(results);
const entries = Object.entries(results).map(([name, result]) => [name, {
  firstDeltaMs: median(result.first),
  addedMs: median(result.first) - median(first),
  repliesPerSecond: median(result.rate),
  share: median(result.rate) / median(rate),
}]);
await service.stop();
end(Object.fromEntries(entries));
