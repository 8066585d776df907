// aimock on a loopback port, as a server of language models. Its only argument contains the responses
// by message, in aimock's format. Prints its URL, and then the end of each chat response: `whole`, or
// `cut` if the client disconnected before the end.

import { subscribe } from 'node:diagnostics_channel';

import { LLMock } from '@copilotkit/aimock';

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

subscribe('http.server.request.start', ({ request, response }) => {
  if (request.method !== 'POST') return;
  response.once('close', () => say({ answer: response.writableFinished ? 'whole' : 'cut' }));
});

const server = new LLMock({ host: '127.0.0.1', port: 0, logLevel: 'silent' });
server.addFixturesFromJSON(JSON.parse(process.argv[2]));
await server.start();
say({ url: server.url });
// The parent process may end without a signal.
process.stdin.on('end', () => process.exit()).resume();
