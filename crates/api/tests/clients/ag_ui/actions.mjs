// Interrupts and frontend tools with `HttpAgent` of @ag-ui/client 1.0.0 and 0.0.59.
import * as current from '@ag-ui/client';
import * as earlier from '@ag-ui/client-0-0-59';

import { end, same, say } from '../cases.mjs';
import { startService } from '../service.mjs';

const service = await startService();
const calculator = { name: 'calculator', visibility: 'full', approval: 'always' };
const id = await service.newAgent({ tools: [calculator], allowClientTools: true });
const openCart = { name: 'open_cart', description: 'Opens the cart.', parameters: { type: 'object', properties: {} } };
const CALCULATE = ['calculator', { expression: '17 * 24' }];
const OPEN = ['open_cart', { tab: 2 }];
const calls = (...list) => `calls ${JSON.stringify(list)}`;
console.error = () => {};
let threads = 0;

for (const [version, { HttpAgent }] of [['1.0.0', current], ['0.0.59', earlier]]) {
  const isCurrent = version === '1.0.0';
  const log = (what) => say(`${version}: ${what}`);
  const thread = () => `actions-${(threads += 1)}-${version}`;
  const open = (threadId = thread()) => new HttpAgent({ url: `${service.url}/ag-ui/agents/${id}/run`, headers: service.headers, threadId });
  const send = (agent, content) => agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });
  const run = async (agent, parameters = {}) => {
    const events = [];
    const { newMessages } = await agent.runAgent({ tools: [openCart], ...parameters }, { onEvent: ({ event }) => void events.push(event) });
    return { events, newMessages, outcome: events.at(-1).outcome, kinds: [...new Set(events.map((it) => it.type))] };
  };
  const turns = async (agent) => (await service.stored(id, agent.threadId)).turns;
  const TEXT = ['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'];
  const CALL = ['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END'];

  // An interrupt, approved and denied.
  for (const [answer, expected] of [
    [{ status: 'resolved', payload: { approved: true } }, /Then: .*408/],
    [{ status: 'resolved', payload: { approved: false, reason: 'too large' } }, /Then: .*too large/],
    [{ status: 'cancelled' }, /Then: .*denied/],
  ]) {
    const agent = open();
    send(agent, calls(CALCULATE));
    const asked = await run(agent);
    same(asked.kinds, ['RUN_STARTED', ...TEXT, ...CALL, 'RUN_FINISHED'], 'events of a question');
    same(asked.outcome.type, 'interrupt', 'outcome');
    const [interrupt, ...others] = asked.outcome.interrupts;
    const call = agent.messages.at(-1).toolCalls[0];
    same([interrupt.id, interrupt.reason, interrupt.toolCallId, others.length], [call.id, 'tool_call', call.id, 0], 'interrupt');
    if (Number.isNaN(Date.parse(interrupt.expiresAt))) throw new Error(interrupt.expiresAt);
    same((await turns(agent))[0].status, 'requires_action', 'status');
    const resume = [{ interruptId: interrupt.id, ...answer }];
    const { kinds, newMessages, outcome } = await run(agent, { resume });
    same(kinds, ['RUN_STARTED', 'TOOL_CALL_RESULT', ...TEXT, 'RUN_FINISHED'], 'events of a continuation');
    same(newMessages.map((it) => it.role), ['tool', 'assistant'], 'roles');
    if (!expected.test(newMessages[1].content)) throw new Error(newMessages[1].content);
    same(outcome, isCurrent ? { type: 'success' } : undefined, 'outcome');
    same((await turns(agent)).map((it) => it.status), ['completed'], 'turns');
    const history = await fetch(`${service.url}/ag-ui/agents/${id}/run?threadId=${agent.threadId}`, { headers: { ...service.headers, accept: 'text/event-stream' } });
    const snapshot = JSON.parse((await history.text()).split('data: ')[2]).messages;
    const core = (messages) => messages.map(({ id, role, content }) => [id, role, content]);
    same(core(snapshot), core(agent.messages), 'MESSAGES_SNAPSHOT');
  }
  log('a call is approved, denied, and denied without an answer');

  // The same answer again, and another one.
  {
    const agent = open();
    send(agent, calls(CALCULATE));
    const { outcome } = await run(agent);
    const messages = structuredClone(agent.messages);
    const post = (more) =>
      fetch(agent.url, {
        method: 'POST',
        headers: { ...service.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: agent.threadId, runId: crypto.randomUUID(), messages, ...more }),
      });
    const refused = await (await post({ messages: [...messages, { id: 'm', role: 'user', content: 'Hello?' }] })).text();
    if (!refused.includes('RUN_ERROR') || !refused.includes('action_required')) throw new Error(refused);
    const resume = (approved) => [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { approved } }];
    // Also of clients that do not repeat the messages.
    for (const more of [{ messages: [] }, {}]) {
      const text = await (await post({ resume: resume(true), ...more })).text();
      if (!/TOOL_CALL_RESULT[^]*Then: [^]*RUN_FINISHED/.test(text) || /TOOL_CALL_START|Let me/.test(text)) throw new Error(text);
    }
    const other = await post({ resume: resume(false) });
    same([other.status, (await other.json()).code], [409, 'action_decided'], 'another answer');
    same((await turns(agent)).length, 1, 'turns');
  }
  log('an open interrupt refuses messages; the first answer counts');

  // A tool of the page.
  {
    const agent = open();
    send(agent, calls(OPEN));
    const asked = await run(agent);
    const call = agent.messages.at(-1).toolCalls[0];
    same([call.function.name, JSON.parse(call.function.arguments)], OPEN, 'call');
    same(asked.outcome, isCurrent ? { type: 'success', pendingToolCallIds: [call.id] } : undefined, 'outcome');
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content: 'opened' });
    const { kinds, newMessages } = await run(agent);
    same(kinds, ['RUN_STARTED', ...TEXT, 'RUN_FINISHED'], 'events of a continuation');
    if (!/Then: .*opened/.test(newMessages[0].content)) throw new Error(newMessages[0].content);
    same((await turns(agent)).map((it) => it.status), ['completed'], 'turns');
  }
  log('a tool of the page runs there');

  // Its result with the next message.
  {
    const agent = open();
    send(agent, calls(OPEN));
    await run(agent);
    const call = agent.messages.at(-1).toolCalls[0];
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content: 'opened' });
    send(agent, 'And now?');
    const { newMessages } = await run(agent);
    same(newMessages.map((it) => it.content), ['You said: And now?'], 'reply');
    same((await turns(agent)).map((it) => it.finishReason), ['stop', 'stop'], 'turns');
  }
  log('a result arrives with the next message');

  // Both at once, after a restart.
  {
    const agent = open();
    send(agent, calls(CALCULATE, OPEN));
    const { outcome } = await run(agent);
    const other = agent.messages.at(-1).toolCalls[1];
    await service.restart();
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: other.id, content: 'opened' });
    const { kinds, newMessages } = await run(agent, { resume: [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { approved: true } }] });
    same(kinds, ['RUN_STARTED', 'TOOL_CALL_RESULT', ...TEXT, 'RUN_FINISHED'], 'events of a continuation');
    if (!/408.*opened/.test(newMessages.at(-1).content)) throw new Error(newMessages.at(-1).content);
  }
  log('an approval and a result after a restart');
}

await service.stop();
end({ ok: true });
