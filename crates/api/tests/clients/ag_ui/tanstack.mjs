// ChatClient of @tanstack/ai-client: text, tools, cuts, reloads in mid-reply, regenerate, stop.

import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client';

import { end, same, say, until } from '../cases.mjs';
import { startService } from '../service.mjs';

const service = await startService();
const model = await service.newAgent();
const urlOf = (base) => `${base}/ag-ui/agents/${model}/run`;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function clientOf(threadId, { base = service.url, ...options } = {}) {
  const connection = fetchServerSentEvents(urlOf(base), {
    headers: service.headers,
    reconnect: { delayMs: 5 },
  });
  return new ChatClient({ connection, threadId, ...options });
}

const textOf = (message) =>
  message.parts.filter((it) => it.type === 'text').map((it) => it.content).join('');
const shown = (client) => client.getMessages().map((it) => [it.id, textOf(it)]);
async function isStored(threadId, client) {
  const { messages, turns } = await service.stored(model, threadId);
  same(shown(client), messages.map((it) => [it.clientMessageId ?? it.id, it.content]), threadId);
  return turns.length;
}

// Text and tools.
let client = clientOf('plain');
await client.sendMessage('words 3');
await client.sendMessage('tools');
same(await isStored('plain', client), 2, 'turns');
const kindsOf = (message) => message.parts.map((it) => [it.type, it.state].join(' ').trim());
same([client.getStatus(), client.getError()], ['ready', undefined], 'status');
say(`text and tools: ${kindsOf(client.getMessages().at(-1)).join(', ')}`);

// A new page reads the thread.
client = clientOf('plain', { persistence: true });
client.attach();
await until(() => client.getMessages().length === 4);
same(await isStored('plain', client), 2, 'turns');
say(`history: ${kindsOf(client.getMessages().at(-1)).join(', ')}`);

// Regenerate.
await client.reload();
same(await isStored('plain', client), 3, 'turns after reload()');
say('reload(): the reply is replaced; 3 turns');

// A cut in mid-reply.
const { relay } = service;
relay.cutAfter(20);
client = clientOf('cut', { base: relay.url });
await client.sendMessage('words 40 10');
same(await isStored('cut', client), 1, 'turns');
same(client.getStatus(), 'ready', 'status');
same(relay.cuts, 1, 'cuts');
say('cut: the text is whole');

// A reload of the page in mid-reply, with messages on the server and with messages in the browser.
const memory = (items = new Map()) => {
  return {
    copy: () => memory(structuredClone(items)),
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, structuredClone(value)),
    removeItem: (key) => void items.delete(key),
  };
};
for (const [name, persistence, order] of [
  ['server', true, 'words 40 20'],
  ['browser', memory(), 'words 40 20'],
  ['server', true, 'tools 40 20'],
  ['browser', memory(), 'tools 40 20'],
]) {
  const threadId = `reload-${name}-${order.slice(0, 5)}`;
  const before = clientOf(threadId, { persistence });
  const sending = before.sendMessage(order);
  await pause(300);
  // The page is closed without a call of the client.
  const left = persistence.copy?.() ?? true;
  const after = clientOf(threadId, { persistence: left });
  after.attach();
  await until(() => after.getMessages().length > 1);
  const during = textOf(after.getMessages().at(-1)).length;
  await until(() => !after.getIsLoading());
  await sending;
  same(await isStored(threadId, after), 1, 'turns');
  same(after.getStatus(), 'ready', 'status');
  say(`reload, messages in ${name}, ${order}: ${during} characters at first, ${textOf(after.getMessages().at(-1)).length} at last`);
}

// stop() closes the stream; the operation of the service cancels the turn.
client = clientOf('stop');
const sending = client.sendMessage('words 200 20');
await pause(300);
client.stop();
await service.call('POST', `/ag-ui/agents/${model}/stop`, { threadId: 'stop' });
await sending;
const { turns } = await service.stored(model, 'stop');
same(turns.map((it) => it.status), ['cancelled'], 'turns after stop()');
say('stop(): cancelled');

// A failure in mid-reply, and a refusal.
client = clientOf('fail');
await client.sendMessage('fail 3');
same([client.getStatus(), client.getError()?.message.split('.')[0]], ['error', 'The reply engine failed'], 'failure');
client = clientOf('no key');
await client.sendMessage('words 3');
same([client.getStatus(), client.getError()?.message], ['error', 'HTTP error! status: 422 Unprocessable Entity'], 'refusal');
say(`errors: status ${client.getStatus()}, ${client.getError().message}`);

// The node is killed: the run fails, and is not shown as complete.
client = clientOf('killed');
const lost = client.sendMessage('words 3000 20');
await pause(300);
await service.restart();
await lost;
say(`killed: status ${client.getStatus()}, ${client.getError()?.message}`);
same(client.getStatus(), 'error', 'status after the node was killed');
await service.stop();
end({ ok: true });
