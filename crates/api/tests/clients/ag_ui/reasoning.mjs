// The model's reasoning in runs of @ag-ui/client 1.0.0 and 0.0.59: `node reasoning.mjs`, with the address, a key and an
// agent as JSON on its input.

import { json } from 'node:stream/consumers';

import * as current from '@ag-ui/client';
import * as earlier from '@ag-ui/client-0-0-59';

import { end } from '../cases.mjs';

const { url, key, agent } = await json(process.stdin);
const received = {};
for (const [version, { HttpAgent }] of [['1.0.0', current], ['0.0.59', earlier]]) {
  const headers = { authorization: `Bearer ${key}` };
  const client = new HttpAgent({ url: `${url}/ag-ui/agents/${agent}/run`, headers, threadId: `thread-${version}` });
  client.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'Hi' });
  const types = [];
  const { newMessages } = await client.runAgent({ tools: [] }, { onEvent: ({ event }) => void types.push(event.type) });
  const contents = (role) => newMessages.filter((message) => message.role === role).map(({ content }) => content);
  received[version] = {
    types: types.filter((type) => type.startsWith('REASONING')),
    reasoning: contents('reasoning').join(''),
    text: contents('assistant').join(''),
  };
}
end(received);
