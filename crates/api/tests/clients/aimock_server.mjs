// aimock on a loopback port of its own, in the guise of a server of language models. Its one argument
// says what it answers to which message, in aimock's own words. Says where it is, and then how each
// of its answers to a chat ended: `whole`, or `cut` when whoever asked went away before the end.

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
// Whoever started it may end without a word.
process.stdin.on('end', () => process.exit()).resume();
