// Runs the cases of a page in Chromium against the service, and prints their result.
import { startBrowser, servePage } from "./browser.mjs";
import { end, runCases, say } from "./cases.mjs";
import { ChatPage } from "./chat_page.mjs";
import { newRecorder } from "./cross_origin.mjs";
import { pageCases } from "./page_cases.mjs";
import { startRelay } from "./relay.mjs";
import { startService } from "./service.mjs";

const VIEWPORT = { width: 720, height: 640 };
const KEY_SCOPES = "chat:write,conversations:read";

// `name` names the screenshots, `source` is the page. `cases` returns the cases, of which `without` are
// left out; `more` returns further ones. `config` is that of the agents, and `settings` returns what the
// address of a case's page contains in addition.
export const runPage = async (given) => {
  const { name, source, handle, elements, config, resume, cases: casesOf = pageCases, without = [] } = given;
  const { more = () => ({}), settings = () => ({}) } = given;
  const site = await servePage(source, handle && ((...exchange) => handle(service, ...exchange)));
  // Pages that talk to a server of their own do so over a connection that can be cut.
  const entrance = handle ? await startRelay(site.port) : undefined;
  const origin = entrance?.url ?? site.origin;
  const service = await startService({ SERVER__ALLOWED_ORIGINS: origin });
  const browser = await startBrowser();
  const recorder = newRecorder(service.relay.url);
  const key = service.key(KEY_SCOPES);

  const open = async () => {
    const agent = await service.newAgent(config);
    const context = await browser.newContext({ viewport: VIEWPORT });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => say(`error in the page: ${error.message}`));
    await recorder.watch(page);
    const chat = new ChatPage(page, { elements, name, stored: () => service.stored(agent) });
    const all = { service: service.relay.url, agent, key, chat: `chat-of-${agent}`, ...settings() };
    await chat.load(`${origin}/?${new URLSearchParams(all)}`);
    return chat;
  };
  const tools = { open, service, model: service.model, cut: (entrance ?? service.relay).cut, resume };
  const cases = { ...casesOf(tools), ...more(tools) };
  for (const left of without) delete cases[left];
  const passed = await runCases(cases, service.model.release);

  await browser.close();
  entrance?.stop();
  site.stop();
  await service.stop();
  end({ ...passed, ...recorder.result() });
};
