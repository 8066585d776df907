// Calls that wait, in pages with assistant-ui, over reloads and restarts of the service.
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { acting, actionCases } from "../../../crates/api/tests/clients/action_cases.mjs";
import { servePage, startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import { ChatPage } from "../../../crates/api/tests/clients/chat_page.mjs";
import { type Service, startService } from "./service.js";

let site: Awaited<ReturnType<typeof servePage>>;
let service: Service;
let browser: Browser;

beforeAll(async () => {
  site = await servePage({ folder: fileURLToPath(new URL("./pages", import.meta.url)), file: "assistant-ui.tsx" });
  service = await startService({ SERVER__ALLOWED_ORIGINS: site.origin });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  site?.stop();
  await service?.stop();
});

/** The cases of every page, for one with these settings in its address. */
const casesOf = (name: string, settings: Record<string, string>) => {
  const open = async () => {
    const agent = await service.newAgent(acting);
    const key = service.key("chat:write,conversations:read,conversations:write,events:read");
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(20_000);
    const chat = new ChatPage(page, { name, stored: () => service.stored(agent) });
    await chat.load(`${site.origin}/?${new URLSearchParams({ service: service.url, agent, key, ...settings })}`);
    return chat;
  };
  // The service has started when a case runs.
  const restart = () => service.restart();
  return Object.entries<() => Promise<void>>(
    actionCases({ open, service: { restart }, isAnswer: (body: string) => body.includes('"output"') }).cases,
  );
};

describe("with the runtime of the client", () => {
  test.each(casesOf("agent-runtime", {}))("%s", (_, run) => run());
});

describe("with the runtime of the AI SDK", () => {
  // It runs no tools of calls that it finds in the history.
  const approvals = casesOf("chat-runtime", { isAiSdk: "" }).filter(([name]) => !name.includes("tool of the page"));
  test.each(approvals)("%s", (_, run) => run());
});
