// Pages with CopilotKit (through its runtime) and TanStack AI (directly) in headless Chromium: send,
// tools, stop, reload in mid-reply, cut, regenerate. SHOTS is the folder for screenshots; CHROMIUM
// the browser.

import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

process.env.COPILOTKIT_TELEMETRY_DISABLED = 'true';
const { HttpAgent } = await import('@ag-ui/client');
const { CopilotRuntime, InMemoryAgentRunner } = await import('@copilotkit/runtime/v2');
const { createCopilotNodeListener } = await import('@copilotkit/runtime/v2/node');
const { build } = await import('esbuild');
const { chromium } = await import('playwright-core');
const { end, same, say, startService } = await import('../ag_ui/service.mjs');

const shots = process.env.SHOTS ?? tmpdir();
const pages = createServer();
await new Promise((resolve) => pages.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${pages.address().port}`;
const service = await startService({ SERVER__ALLOWED_ORIGINS: origin });
const model = await service.createAgent({ engine: 'llm' });
const base = `${service.base}/ag-ui/agents/${model}`;
const { headers } = service;

class ServiceAgent extends HttpAgent {
  abortRun() {
    super.abortRun();
    service.call('POST', `/ag-ui/agents/${model}/stop`, { threadId: this.threadId });
  }
}

const folder = mkdtempSync(join(tmpdir(), 'ag-ui-pages-'));
await build({
  entryPoints: ['copilotkit.jsx', 'tanstack.jsx'],
  bundle: true,
  outdir: folder,
  format: 'esm',
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
  loader: { '.woff': 'dataurl', '.woff2': 'dataurl', '.ttf': 'dataurl' },
  logLevel: 'error',
});
const runtime = new CopilotRuntime({
  agents: { default: new ServiceAgent({ url: `${base}/run`, headers }) },
  runner: new InMemoryAgentRunner(),
});
const copilot = createCopilotNodeListener({ runtime, basePath: '/api/copilotkit' });
pages.on('request', (request, response) => {
  if (request.url.startsWith('/api/copilotkit')) return copilot(request, response);
  const [, name, kind] = request.url.match(/^\/(copilotkit|tanstack)(\.js|\.css)?$/) ?? [];
  if (!name || (kind && !existsSync(join(folder, name + kind)))) {
    return response.writeHead(404).end();
  }
  if (kind) {
    response.writeHead(200, { 'content-type': kind === '.js' ? 'text/javascript' : 'text/css' });
    return response.end(readFileSync(join(folder, name + kind)));
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(`<!doctype html><link rel="stylesheet" href="/${name}.css"><div id="root"></div>
    <script>window.SERVICE = ${JSON.stringify({ base, headers })}</script>
    <script type="module" src="/${name}.js"></script>`);
});

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});

/** A page of one client, and what a person does with it. */
async function open(name, input) {
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
  const page = await context.newPage();
  page.on('pageerror', (error) => say(`${name}: ${error.message}`));
  await page.goto(`${origin}/${name}`);
  await page.waitForSelector(input);
  return {
    page,
    context,
    async send(text) {
      await page.fill(input, text);
      await page.press(input, 'Enter');
    },
    has: (text) =>
      page.waitForFunction((it) => document.body.innerText.includes(it), text, { timeout: 20_000 }),
    shot: (what) => page.screenshot({ path: join(shots, `${name}-${what}.png`) }),
  };
}

const statuses = async (thread) =>
  (await service.stored(model, thread)).turns.map((turn) => turn.status);

// CopilotKit.
{
  const { page, send, has, shot } = await open('copilotkit', 'textarea');
  await send('tools');
  await has('It is 408.');
  const text = await page.evaluate(() => document.body.innerText);
  const order = ['Let me see.', 'calculator', 'It is 408.'].map((it) => text.indexOf(it));
  same(order, [...order].sort((a, b) => a - b), 'order of text and tools');
  await shot('tools');
  await send('words 100 50');
  await has('word10');
  await page.locator('[data-testid="copilot-send-button"]').click();
  await page.waitForTimeout(1_000);
  await shot('stopped');
  same(await statuses('copilotkit'), ['completed', 'cancelled'], 'turns');
  await send('words 60 60');
  await has('word20');
  await page.reload();
  await has('word60');
  await shot('reloaded');
  same(await statuses('copilotkit'), ['completed', 'cancelled', 'completed'], 'turns');
  say('copilotkit: send, tools, stop, reload in mid-reply');
}

// TanStack AI.
{
  const { page, context, send, has, shot } = await open('tanstack', 'input');
  const isReady = () =>
    page.waitForFunction(() => document.querySelector('#status').innerText === 'ready');
  const count = async () => [
    await page.locator('.user').count(),
    await page.locator('.assistant').count(),
  ];
  await send('tools');
  await has('It is 408.');
  await isReady();
  await shot('tools');
  await send('words 40 80');
  await has('word10');
  await page.reload();
  await has('word12');
  await shot('reloaded-in-mid-reply');
  await has('word40');
  await isReady();
  same(await count(), [2, 2], 'messages after a reload');
  await page.click('#again');
  await page.waitForTimeout(500);
  await has('word40');
  await isReady();
  same(await count(), [2, 2], 'messages after regenerate');
  await send('words 200 50');
  await has('word41');
  await page.click('#stop');
  await page.waitForTimeout(1_000);
  await shot('stopped');
  same((await statuses('tanstack')).at(-1), 'cancelled', 'turn');
  await send('words 50 80');
  await page.waitForTimeout(1_000);
  await context.setOffline(true);
  await page.waitForTimeout(1_000);
  await context.setOffline(false);
  await page.waitForFunction(() => [...document.querySelectorAll('.assistant')].at(-1).innerText.includes('word50'));
  await isReady();
  await shot('after-a-cut');
  same(await count(), [4, 4], 'messages after a cut');
  say('tanstack: send, tools, reload in mid-reply, regenerate, stop, cut');
}

await browser.close();
await service.stop();
end({ ok: true });
