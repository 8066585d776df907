// `HttpAgent` of @ag-ui/client 1.0.0 and 0.0.59: text, tools, failures, cancellation, resends. With
// the second argument `drain`: a shutdown in mid-reply.

import * as current from '@ag-ui/client';
import * as earlier from '@ag-ui/client-0-0-59';

import { end, same, say } from '../cases.mjs';
import { photo } from '../photo.mjs';
import { startService } from '../service.mjs';

const service = await startService();
const rules = await service.newAgent({ engine: 'rules', rules: [{ pattern: 'Hello', reply: 'I see.' }, { pattern: 'Again', reply: 'I see.' }] });
const model = await service.newAgent();
console.error = () => {};

/** Runs one message, and returns the types of events, the result and the error. */
async function run(agent, text, parameters = {}, onEvent = () => {}) {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
  const events = [];
  const subscriber = {
    onEvent: ({ event }) => {
      events.push(event);
      onEvent(event);
    },
  };
  try {
    const { newMessages } = await agent.runAgent({ tools: [], ...parameters }, subscriber);
    return { events, newMessages };
  } catch (error) {
    return { events, error };
  }
}

// One entry for all text between two other events.
const kinds = (events) =>
  events.map((it) => it.type).filter((type, i, all) => type !== 'TEXT_MESSAGE_CONTENT' || type !== all[i - 1]);

if (process.argv[3] === 'drain') await drain();
for (const [version, { HttpAgent }] of [['1.0.0', current], ['0.0.59', earlier]]) {
  const isCurrent = version === '1.0.0';
  const agentOf = (id, threadId) =>
    new HttpAgent({ url: `${service.url}/ag-ui/agents/${id}/run`, headers: service.headers, threadId });
  const log = (what) => say(`${version}: ${what}`);

  // A conversation.
  let agent = agentOf(rules, `plain-${version}`);
  for (const text of ['Hello', 'Again']) {
    const { events, newMessages } = await run(agent, text);
    same(kinds(events), ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED'], 'events');
    same(newMessages.map((it) => it.content), ['I see.'], 'reply');
    same(events[0].protocolVersion, isCurrent ? '1.0' : undefined, 'protocolVersion');
    same(events.at(-1).outcome, isCurrent ? { type: 'success' } : undefined, 'outcome');
  }
  let stored = await service.stored(rules, `plain-${version}`);
  same(stored.messages.map((it) => it.clientMessageId ?? it.id), agent.messages.map((it) => it.id), 'ids');
  log('two turns of one conversation; ids equal the stored ones');

  // A photo.
  agent = agentOf(model, `photo-${version}`);
  const image = { type: 'image', source: { type: 'data', value: photo.base64, mimeType: photo.mediaType } };
  const looked = await run(agent, [{ type: 'text', text: 'look' }, image]);
  same(looked.newMessages.map((it) => it.content), [`I see image/png of ${photo.bytes} bytes`], 'reply to a photo');
  stored = await service.stored(model, `photo-${version}`);
  same(stored.messages[0].files.map((it) => [it.mediaType, it.bytes]), [['image/png', photo.bytes]], 'stored photo');
  const again = await run(agent, 'Hello');
  same(again.newMessages.map((it) => it.content), ['You said: Hello'], 'reply after a photo');
  log('a photo reaches the model');

  // Tools, before and after text.
  agent = agentOf(model, `tools-${version}`);
  const tools = await run(agent, 'tools');
  const text = ['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'];
  const call = ['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END'];
  const result = 'TOOL_CALL_RESULT';
  // Calls and results may alternate.
  const order = kinds(tools.events.filter((it) => it.type !== result));
  same(order, ['RUN_STARTED', ...text, ...call, ...call, ...text, 'RUN_FINISHED'], 'events of tools');
  same(tools.events.filter((it) => it.type === result).length, 2, 'results');
  const [reply, first, second, rest] = tools.newMessages;
  same([reply.content, reply.toolCalls.length, first.content, first.role], ['Let me see.', 2, '408', 'tool'], 'tools');
  same(second.toolCallId, reply.toolCalls[1].id, 'result of the second call');
  same([rest.role, rest.content, rest.id], ['assistant', '\n\nIt is 408.', `${reply.id}-2`], 'text after the calls');
  const history = await fetch(`${service.url}/ag-ui/agents/${model}/run?threadId=tools-${version}`, {
    headers: { ...service.headers, accept: 'text/event-stream' },
  });
  const snapshot = JSON.parse((await history.text()).split('data: ')[2]).messages;
  const core = (messages) => messages.map(({ id, role, content, toolCallId }) => [id, role, content, toolCallId]);
  same(core(snapshot), core(agent.messages), 'MESSAGES_SNAPSHOT');
  const usage = tools.events.at(-1).usage;
  log(`text, two calls with results, text; usage ${JSON.stringify(usage)}`);

  // A failure in mid-reply.
  const failed = await run(agentOf(model, `fail-${version}`), 'fail 3');
  same(kinds(failed.events).slice(-1), ['RUN_ERROR'], 'last event of a failure');
  log(`failure: ${failed.events.at(-1).code}: ${failed.events.at(-1).message}`);

  // Stop: the turn is cancelled, the stream ends.
  const threadId = `stop-${version}`;
  let stopping;
  const stopped = await run(agentOf(model, threadId), 'words 200 20', {}, (event) => {
    if (event.type === 'TEXT_MESSAGE_CONTENT' && !stopping) {
      stopping = service.call('POST', `/ag-ui/agents/${model}/stop`, { threadId });
    }
  });
  same((await stopping).status, 204, 'status of stop');
  const last = stopped.events.at(-1);
  same(isCurrent ? last.outcome : last.code, isCurrent ? { type: 'cancelled' } : 'turn_cancelled', 'end');
  stored = await service.stored(model, threadId);
  same(stored.turns.map((it) => it.status), ['cancelled'], 'turn');
  log(`stop: ${last.type} ${JSON.stringify(last.outcome ?? last.code)}`);

  // abortRun closes the stream; the turn goes on.
  const aborted = agentOf(model, `abort-${version}`);
  await run(aborted, 'words 20 20', {}, (event) => {
    if (event.type === 'TEXT_MESSAGE_CONTENT') aborted.abortRun();
  });
  let turns;
  do {
    ({ turns } = await service.stored(model, `abort-${version}`));
  } while (turns[0].status === 'in_progress');
  same(turns.map((it) => it.status), ['completed'], 'turn after abortRun');
  log('abortRun: the turn is completed');

  // The same run again is the same turn.
  const body = { threadId: `again-${version}`, runId: `run-${version}`, messages: [{ id: 'm1', role: 'user', content: 'Hello' }] };
  const texts = [];
  for (let i = 0; i < 2; i += 1) {
    const response = await fetch(`${service.url}/ag-ui/agents/${rules}/run`, {
      method: 'POST', headers: { ...service.headers, 'content-type': 'application/json' }, body: JSON.stringify(body),
    });
    texts.push(await response.text());
  }
  same(texts[0], texts[1], 'replay');
  same((await service.stored(rules, `again-${version}`)).turns.length, 1, 'turns');
  log('a resent run is replayed, byte for byte; one turn');

  // The same message in another run is answered again.
  agent = agentOf(rules, `regenerate-${version}`);
  await run(agent, 'Hello');
  agent.setMessages(agent.messages.slice(0, 1));
  await agent.runAgent({ tools: [] });
  stored = await service.stored(rules, `regenerate-${version}`);
  same([stored.messages.length, stored.turns.length], [2, 2], 'messages and turns after regenerate');
  same(stored.messages.map((it) => it.clientMessageId ?? it.id), agent.messages.map((it) => it.id), 'ids');
  log('regenerate: 2 turns, 2 messages');

  // Tools of the client that cannot be added, and a run that waits for another one.
  const tool = { name: 'con fetti', description: 'Throws confetti', parameters: {} };
  const noting = run(agentOf(model, `queue-${version}`), 'words 20 20', { tools: [tool] });
  await new Promise((resolve) => setTimeout(resolve, 150));
  const [noted, waited] = await Promise.all([noting, run(agentOf(model, `queue-${version}`), 'words 2')]);
  const customs = [noted, waited].map(({ events }) => events.filter((it) => it.type === 'CUSTOM').map((it) => it.name));
  same(customs, [['tools_ignored'], ['queued']], 'custom events');
  same(waited.newMessages.at(-1).content, 'word1 word2 ', 'reply after waiting');
  log('custom events: tools_ignored, queued');

  // Refusals.
  const refused = await run(agentOf(rules, 'a b'), 'Hello');
  same([refused.error.status, refused.error.payload?.code], [422, 'validation_failed'], 'refusal');
  const unknown = await run(agentOf('nobody', 'x'), 'Hello');
  same([unknown.error.status, unknown.error.payload?.code], [404, 'agent_not_found'], 'unknown agent');
  log(`refused: ${refused.error.payload.message}`);
}

await service.stop();
end({ ok: true });

/** A run whose reply goes on elsewhere is an error, not a short reply. */
async function drain() {
  const agent = new current.HttpAgent({
    url: `${service.url}/ag-ui/agents/${model}/run`, headers: service.headers, threadId: 'drain',
  });
  let isDraining = false;
  const { events } = await run(agent, 'words 3000 20', {}, (event) => {
    if (event.type === 'TEXT_MESSAGE_CONTENT' && !isDraining) {
      isDraining = true;
      service.signal('SIGTERM');
    }
  });
  same([events.at(-1).type, events.at(-1).code], ['RUN_ERROR', 'draining'], 'drain');
  say(`drain: ${events.at(-1).message}`);
  end({ ok: true });
  await new Promise(() => {});
}
