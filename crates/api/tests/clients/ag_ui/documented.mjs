// The examples of docs/protocols/ag-ui.md, unchanged: `node documented.mjs BINARY DOCUMENT`.
import assert from 'node:assert/strict';
import * as current from '@ag-ui/client';
import * as earlier from '@ag-ui/client-0-0-59';
import { servePage, startBrowser } from '../browser.mjs';
import { end, runCases, until } from '../cases.mjs';
import { PAGE_SETTINGS, readBlocks, runModule } from '../documents.mjs';
import { startService } from '../service.mjs';

const [, document] = process.argv.slice(2);
const block = readBlocks(document);
const page = `${block('@tanstack/ai-react')}
import { createRoot } from 'react-dom/client';
createRoot(document.getElementById('root')).render(<Chat threadId="page" />);`;
const site = await servePage({ folder: import.meta.dirname, text: page, modules: { './settings.js': PAGE_SETTINGS } });
const service = await startService({ SERVER__ALLOWED_ORIGINS: site.origin });
const { model } = service;
const id = await service.newAgent();
const browser = await startBrowser();

const classOf = async (client) => {
  const modules = { '@ag-ui/client': client };
  return (await runModule(block('class ServiceAgent'), modules, { names: ['ServiceAgent'] })).ServiceAgent;
};
const contents = (agent) => agent.messages.map((message) => message.content);
const user = (content) => ({ id: crypto.randomUUID(), role: 'user', content });
const half = 'First half, ';

// Reload, resume, regenerate and stop, as the table of the document describes them.
const usesThreads = async (client, threadId) => {
  const ServiceAgent = await classOf(client);
  const url = `${service.url}/ag-ui/agents/${id}/run`;
  const open = () => new ServiceAgent({ url, headers: service.headers, threadId });
  const [first, second] = [open(), open()];
  await first.connectAgent();
  assert.deepEqual(first.messages, []);
  first.addMessage(user('hold'));
  const running = first.runAgent();
  await until(() => contents(first).at(-1) === half);
  const connected = second.connectAgent();
  await until(() => contents(second).at(-1) === half);
  model.release();
  await Promise.all([running, connected]);
  assert.deepEqual(contents(second), ['hold', 'First half, second half.']);
  assert.deepEqual(second.messages.map((it) => it.id), first.messages.map((it) => it.id));

  second.setMessages(second.messages.slice(0, 1));
  const ends = [];
  const regenerating = second.runAgent({}, { onEvent: ({ event }) => ends.push(event) });
  await until(() => contents(second).at(-1) === half);
  second.abortRun();
  await regenerating;
  assert.deepEqual(await service.turns(id, threadId), ['completed', 'cancelled']);
  assert.deepEqual(contents(second), ['hold', half]);
  return ends.at(-1);
};

const cases = {
  async 'the program of the document'() {
    const shown = [];
    const globals = {
      process: { env: { URL: service.url, KEY: service.admin, AGENT: id }, stdout: { write: (text) => shown.push(text) } },
      console: { log: (messages) => shown.push(messages.length), error: (...all) => assert.fail(all.join(' ')) },
    };
    const modules = { './service-agent.mjs': { ServiceAgent: await classOf(current) } };
    await runModule(block('onTextMessageContentEvent'), modules, { globals });
    assert.equal(shown.slice(0, -1).join(''), 'You said: Hello!');
    assert.equal(shown.at(-1), 2);
  },
  async 'threads of version 1.0'() {
    const { type, outcome } = await usesThreads(current, 'thread-current');
    assert.deepEqual([type, outcome], ['RUN_FINISHED', { type: 'cancelled' }]);
  },
  async 'threads of earlier versions'() {
    const { type, code } = await usesThreads(earlier, 'thread-earlier');
    assert.deepEqual([type, code], ['RUN_ERROR', 'turn_cancelled']);
  },
  async 'the page of the document'() {
    const opened = await browser.newPage();
    opened.setDefaultTimeout(20_000);
    const settings = { service: service.url, agent: id, token: service.admin };
    await opened.goto(`${site.origin}/?${new URLSearchParams(settings)}`);
    const hello = opened.getByRole('button', { name: 'Say hello' });
    await hello.click();
    await opened.getByText('You said: Hello!', { exact: true }).waitFor();
    await opened.reload();
    await opened.getByText('You said: Hello!', { exact: true }).waitFor();
    assert.deepEqual(await opened.locator('p').allTextContents(), ['Hello!', 'You said: Hello!']);
  },
};
const passed = await runCases(cases, model.release);
await browser.close();
site.stop();
await service.stop();
end(passed);
