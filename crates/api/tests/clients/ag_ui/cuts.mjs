// Cuts of the network at every part boundary of a reply of 40 parts, seen by TanStack AI's client.
// The second argument is the number of runs. Every other reply calls two tools; a third of the runs cut every stream
// at the same distance.

import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client';

import { end, say } from '../cases.mjs';
import { startService } from '../service.mjs';

const service = await startService();
const model = await service.newAgent();
const runs = Number(process.argv[3] ?? 200);
const { relay } = service;
const words = (first) =>
  Array.from({ length: 41 - first }, (_, i) => `word${i + first} `).join('');
const replies = {
  'words 40 4': { text: words(1), calls: [] },
  'tools 40 4': { text: `Let me see.\n\nIt is 408.${words(4)}`, calls: ['17 * 24', '1 +'] },
};
const counts = { runs: 0, cuts: 0, wrongText: 0, wrongCalls: 0, otherTurns: 0, halfShownAsWhole: 0, errors: 0 };

for (let i = 0; i < runs; i += 1) {
  const threadId = `cut-${i}`;
  const order = Object.keys(replies)[i % 2];
  const boundary = 1 + ((i >> 1) % (order.startsWith('tools') ? 54 : 43));
  const isRepeated = i % 3 === 2 && boundary > 1;
  const cuts = relay.cuts;
  relay.cutAfter(boundary, { again: isRepeated });
  const connection = fetchServerSentEvents(`${relay.url}/ag-ui/agents/${model}/run`, {
    headers: service.headers,
    reconnect: { delayMs: 1 },
  });
  const client = new ChatClient({ connection, threadId });
  await client.sendMessage(order);
  const parts = client.getMessages().at(-1)?.parts ?? [];
  const text = parts.map((it) => (it.type === 'text' ? it.content : '')).join('');
  const calls = parts.filter((it) => it.type === 'tool-call');
  const expected = replies[order];
  const { turns, messages } = await service.stored(model, threadId);
  const hasCalls =
    calls.every((it, n) => it.arguments === JSON.stringify({ expression: expected.calls[n] })) &&
    calls.every((it) => it.output !== undefined) &&
    calls.length === expected.calls.length;
  const hasText = text === expected.text && messages.length === 2 && messages[1].content === text;
  const isWhole = hasText && hasCalls;
  if (hasText && !hasCalls) counts.wrongCalls += 1;
  counts.runs += 1;
  counts.cuts += relay.cuts - cuts;
  if (!hasText) counts.wrongText += 1;
  if (turns.length !== 1) counts.otherTurns += 1;
  if (!isWhole && client.getStatus() === 'ready') counts.halfShownAsWhole += 1;
  if (client.getStatus() === 'error') {
    counts.errors += 1;
    say(`after ${boundary} events: ${client.getError()?.message}`);
  }
}
await service.stop();
end(counts);
