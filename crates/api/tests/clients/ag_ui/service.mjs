// The service under test, with a model that follows the user's message. The first argument of every
// program is the binary of the service; its last line of output is JSON.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const binary = process.argv[2] ?? 'target/debug/agent-service';
const unlimited = Object.fromEntries(
  ['REQUESTS', 'CHAT', 'LOG_BYTES', 'ADDRESS'].flatMap((name) => [
    [`LIMITS__${name}__PER_MINUTE`, name === 'LOG_BYTES' ? '4000000000' : '6000000'],
    [`LIMITS__${name}__BURST`, name === 'LOG_BYTES' ? '4000000000' : '1000000'],
  ]),
);

/** Starts service and model. `settings` are further variables of the service. */
export async function startService(settings = {}) {
  const model = await startModel();
  const folder = mkdtempSync(join(tmpdir(), 'ag-ui-'));
  const key = execFileSync(binary, ['keys', 'generate'], { stdio: ['ignore', 'pipe', 'ignore'] })
    .toString()
    .trim();
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: `sqlite://${folder}/service.db`,
    SERVER__PORT: '0',
    SERVER__DRAIN_SECONDS: '0',
    AUTH__BOOTSTRAP_KEY: key,
    LLM__BASE_URL: `http://127.0.0.1:${model.address().port}/v1`,
    LLM__MODEL: 'obedient',
    ENGINES__DEFAULT: 'rules',
    LIMITS__STREAMS: '1000',
    LOG__LEVEL: 'error',
    ...unlimited,
    ...settings,
  };
  const start = async () => {
    const child = spawn(binary, [], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    process.once('exit', () => child.kill('SIGKILL'));
    const line = await new Promise((resolve, reject) => {
      child.stdout.once('data', resolve);
      child.once('exit', (code) => reject(new Error(`the service has ended: ${code}`)));
    });
    const base = String(line).match(/http:\S+/)[0];
    // After a restart it listens on the same port.
    env.SERVER__PORT = new URL(base).port;
    return { child, base };
  };
  const { child, base } = await start();
  const headers = { authorization: `Bearer ${key}` };
  const service = {
    base,
    key,
    headers,
    process: child,
    async call(method, path, body, more = {}) {
      const response = await fetch(base + path, {
        method,
        headers: { ...headers, 'content-type': 'application/json', ...more },
        body: body && JSON.stringify(body),
      });
      const text = await response.text();
      return { status: response.status, body: text && JSON.parse(text) };
    },
    async createAgent(config) {
      const draft = { name: 'Test', capabilities: ['calculator', 'time'], config };
      return (await service.call('POST', '/api/agents', draft)).body.id;
    },
    /** The stored messages and turns of a thread. */
    async stored(agent, thread) {
      const { body } = await service.call('GET', `/api/conversations?agentId=${agent}&key=${thread}`);
      const id = body.data[0]?.id;
      if (!id) return { messages: [], turns: [] };
      const messages = await service.call('GET', `/api/conversations/${id}/messages?limit=100`);
      const turns = await service.call('GET', `/api/conversations/${id}/turns?limit=100`);
      return { id, messages: messages.body.data, turns: turns.body.data };
    },
    /** Asks the service to end, as a supervisor does. */
    terminate() {
      service.process.kill('SIGTERM');
    },
    async restart() {
      service.process.kill('SIGKILL');
      await new Promise((resolve) => service.process.once('exit', resolve));
      service.process = (await start()).child;
    },
    async stop() {
      service.process.kill('SIGKILL');
      model.close();
      model.closeAllConnections();
    },
  };
  return service;
}

/**
 * A server of language models. `words N PAUSE` streams N words with a pause in milliseconds between
 * two; `tools` calls two tools between two texts; `fail N` fails after N words.
 */
async function startModel() {
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { messages } = JSON.parse(text || '{"messages":[]}');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (delta, rest = {}) =>
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, ...rest }] })}\n\n`);
    const last = messages.at(-1);
    const order = String(messages.findLast((it) => it.role === 'user')?.content ?? '').split(' ');
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    if (order[0] === 'tools' && last.role === 'user') {
      for (const word of ['Let ', 'me ', 'see.']) send({ content: word });
      const call = (index, name, args) => ({
        index, id: `call-${index}`, type: 'function', function: { name, arguments: args },
      });
      send({ tool_calls: [call(0, 'calculator', '{"expression":"17 * 24"}')] });
      send({ tool_calls: [call(1, 'calculator', '{"expression":"1 +"}')] });
      send({}, { finish_reason: 'tool_calls' });
    } else {
      const [kind, count = '3', wait = '0'] = order;
      const words = kind === 'tools' ? ['It ', 'is ', '408.'] : [];
      for (let i = words.length; i < Number(count); i += 1) words.push(`word${i + 1} `);
      for (const word of words) {
        send({ content: word });
        await pause(Number(wait));
      }
      if (kind === 'fail') return response.destroy();
      send({}, { finish_reason: 'stop' });
      const usage = { prompt_tokens: 7, completion_tokens: words.length, total_tokens: 7 + words.length };
      response.write(`data: ${JSON.stringify({ choices: [], usage })}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/**
 * A relay in front of the service that cuts connections: `cutAfter(n)` is the number of events after
 * which it cuts the n-th stream, or undefined.
 */
export async function startRelay(service, cutAfter) {
  let streams = 0;
  const requests = [];
  const relay = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { host, connection, 'content-length': _, ...headers } = request.headers;
    const answer = await fetch(service.base + request.url, {
      method: request.method,
      headers,
      body: request.method === 'POST' ? body : undefined,
    });
    response.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type') ?? 'text/plain',
    });
    response.flushHeaders();
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
    requests.push({ method: request.method, lastEventId: headers['last-event-id'] });
    const limit = isStream ? cutAfter(streams++) : undefined;
    let left = limit;
    let text = '';
    const decoder = new TextDecoder();
    if (left === 0) return response.destroy();
    for await (const chunk of answer.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      let end;
      while (isStream && (end = text.indexOf('\n\n')) >= 0) {
        response.write(text.slice(0, end + 2));
        text = text.slice(end + 2);
        if (left !== undefined && (left -= 1) === 0) {
          // After the event has left.
          await new Promise((resolve) => setTimeout(resolve, 5));
          return response.destroy();
        }
      }
      if (!isStream) {
        response.write(text);
        text = '';
      }
    }
    response.end(text);
  });
  await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));
  return {
    base: `http://127.0.0.1:${relay.address().port}`,
    requests,
    close() {
      relay.close();
      relay.closeAllConnections();
    },
  };
}

/** Fails with both values unless they are equal. */
export function same(actual, expected, what) {
  const [left, right] = [actual, expected].map((value) => JSON.stringify(value));
  if (left !== right) throw new Error(`${what}: ${left} is not ${right}`);
}

/** Reports a step that has succeeded. */
export const say = (text) => process.stderr.write(`${text}\n`);

/** Prints the result, and ends the program. */
export function end(result) {
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}
