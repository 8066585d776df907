// Cuts of the network at every part boundary of a reply of 40 parts, seen by TanStack AI's client.
// RUNS is the number of runs; a third of them cut every stream of the run at the same distance.

import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client';

import { startRelay, startService } from './service.mjs';

const service = await startService();
const model = await service.createAgent({ engine: 'llm' });
const runs = Number(process.env.RUNS ?? 200);
let cutAfter = () => undefined;
const relay = await startRelay(service, (n) => cutAfter(n));
const expected = Array.from({ length: 40 }, (_, i) => `word${i + 1} `).join('');
const counts = { runs: 0, streams: 0, wrongText: 0, otherTurns: 0, halfShownAsWhole: 0, errors: 0 };

for (let i = 0; i < runs; i += 1) {
  const threadId = `cut-${i}`;
  const boundary = 1 + (i % 43);
  const isRepeated = i % 3 === 2 && boundary > 1;
  let streams = 0;
  cutAfter = () => {
    streams += 1;
    return streams === 1 || isRepeated ? boundary : undefined;
  };
  const connection = fetchServerSentEvents(`${relay.base}/ag-ui/agents/${model}/run`, {
    headers: service.headers,
    reconnect: { delayMs: 1 },
  });
  const client = new ChatClient({ connection, threadId });
  await client.sendMessage('words 40 4');
  const text = (client.getMessages().at(-1)?.parts ?? []).map((it) => it.content).join('');
  const { turns, messages } = await service.stored(model, threadId);
  const isWhole = text === expected && messages.length === 2 && messages[1].content === expected;
  counts.runs += 1;
  counts.streams += streams;
  if (!isWhole) counts.wrongText += 1;
  if (turns.length !== 1) counts.otherTurns += 1;
  if (!isWhole && client.getStatus() === 'ready') counts.halfShownAsWhole += 1;
  if (client.getStatus() === 'error') {
    counts.errors += 1;
    console.log(`after ${boundary} events: ${client.getError()?.message}`);
  }
}
console.log(JSON.stringify(counts));
relay.close();
await service.stop();
const { wrongText, otherTurns, halfShownAsWhole, errors } = counts;
process.exit(wrongText + otherTurns + halfShownAsWhole + errors > 0 ? 1 : 0);
