// A chat in each kind of project. Each function returns the texts of the reply, in the order in which they were seen.
import { setTimeout as sleep } from "node:timers/promises";
import { run, start } from "./steps.mjs";

/** Eleven words with pauses, as the model of the tests writes them. */
export const MESSAGE = "words 11 150";
const LAST = "word11";

/** Starts the server of a project, and waits until it answers. */
const serve = async ({ folder, env, address }) => {
  const server = start(folder, env, "start");
  while (!(await fetch(address, { method: "HEAD" }).catch(() => undefined))) {
    if (server.code !== undefined) throw new Error(`npm start: exit code ${server.code}\n${server.output}`);
    await sleep(100);
  }
  return server;
};

/** Collects the different texts of the newest reply. Runs in the page. */
const observe = () => {
  globalThis.texts = [];
  const look = () => {
    const text = [...document.querySelectorAll("p.agent")].at(-1)?.textContent?.trim();
    if (text && text !== globalThis.texts.at(-1)) globalThis.texts.push(text);
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
};

/** A visitor sends a message, sees the reply grow, and sees it again after a reload. */
const page = async (project) => {
  const server = await serve(project);
  const context = await project.browser.newContext();
  const tab = await context.newPage();
  const faults = [];
  tab.on("pageerror", (error) => faults.push(error.stack ?? error.message));
  tab.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  await tab.addInitScript(observe);
  await tab.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
  if (!project.hasBackend) await tab.route("**/token", (route) => route.fulfill({ json: { token: project.token } }));
  // Components are loaded in the browser once the conversation is read.
  const isRead = (response) => response.url().startsWith(`${project.url}/api/conversations`) && response.ok();
  const opened = (open) => Promise.all([tab.waitForResponse(isRead), open()]);
  const whole = tab.locator("p.agent", { hasText: LAST });
  try {
    await opened(() => tab.goto(project.address));
    await tab.getByRole("textbox").fill(MESSAGE);
    await tab.getByText("Send").click();
    await whole.waitFor();
    const texts = await tab.evaluate(() => globalThis.texts);
    await opened(() => tab.reload());
    await whole.waitFor();
    if (faults.length > 0) throw new Error("the console has errors");
    return texts;
  } catch (error) {
    const shown = await tab.innerText("body", { timeout: 1000 }).catch(() => "");
    throw new Error([error.message, ...faults, `The page shows: ${shown}`, server.output].join("\n"));
  } finally {
    await context.close();
  }
};

/** A server passes the reply on. */
const stream = async (project) => {
  const server = await serve(project);
  const texts = [];
  const decoder = new TextDecoder();
  const response = await fetch(project.address);
  for await (const chunk of response.body) texts.push((texts.at(-1) ?? "") + decoder.decode(chunk, { stream: true }));
  if (!response.ok) throw new Error(`${response.status} ${texts.at(-1)}\n${server.output}`);
  return texts;
};

/** A program prints the reply after each change. */
const program = async ({ folder, env }) => {
  const printed = await run(folder, env, "run", "chat");
  return printed.split("\n").filter((line) => line.startsWith("word"));
};

/** A test looks at the states itself. */
const test = async ({ folder, env }) => {
  await run(folder, env, "run", "chat");
  return undefined;
};

const kinds = { page, stream, program, test };

/** Chats, and fails unless the reply was seen in several states and is stored. */
export const chat = async (project) => {
  const texts = await kinds[project.chat](project);
  const states = new Set(texts).size;
  if (texts && (states < 5 || !texts.at(-1).includes(LAST)))
    throw new Error(`${states} states of the reply were seen: ${texts.join(" | ")}`);
  const { body } = await project.service.call("GET", `/api/conversations?agentId=${project.agentId}`);
  if (body.data.length === 0 || body.data.some(({ messageCount }) => messageCount !== 2))
    throw new Error(`The service has stored ${JSON.stringify(body.data)}`);
};
