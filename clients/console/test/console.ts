// The service with its console, and Chromium in which a user works with it.
import { mkdirSync } from "node:fs";
import axe from "axe-core";
import type { BrowserContext, Page } from "playwright-core";
import { expect } from "vitest";
import { startBrowser } from "../../../crates/api/tests/clients/browser.mjs";
import { startService } from "../../../crates/api/tests/clients/service.mjs";

export const SCOPES = "agents:read,agents:write,chat:write,conversations:read,conversations:write,events:read,metrics:read,keys:admin";

/** A name of this machine that browsers do not know as such: without TLS, its pages lack some interfaces. */
export const PLAIN_HOST = "agents.internal";

/** A folder for screenshots, if some are wanted. */
const folder = process.env.SCREENSHOTS;

type Axe = typeof axe;

/** Fails if the page has a serious fault for people who use a screen reader or a keyboard. */
const audit = async (page: Page, name: string) => {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: Axe }).axe.run());
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  expect(serious.map(({ id, nodes }) => `${name}: ${id} ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
};

/** Checks a page on a desktop and on a phone, in light and dark colours. `shown` labels what to scroll to. */
export const inspect = async (page: Page, name: string, shown?: string): Promise<void> => {
  for (const [width, height, colorScheme] of [
    [1280, 800, "light"],
    [1280, 800, "dark"],
    [360, 740, "light"],
    [360, 740, "dark"],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    await page.evaluate((isChat) => window.scrollTo(0, isChat ? document.documentElement.scrollHeight : 0), name.startsWith("chat"));
    if (shown !== undefined) await page.getByRole("textbox", { name: shown }).scrollIntoViewIfNeeded();
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(overflow, `${name} is too wide at ${width} pixels`).toBeLessThanOrEqual(0);
    await audit(page, `${name} (${width}, ${colorScheme})`);
    if (folder === undefined) continue;
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png` });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
};

export const startConsole = async (settings: Record<string, string> = {}) => {
  const service = await startService(settings);
  const browser = await startBrowser([`--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`]);
  const key = service.key(SCOPES);
  const faults: string[] = [];
  /** The address of the service by a host name. */
  const at = (host: string) => service.url.replace("127.0.0.1", host);
  const hosts = [service.url, at(PLAIN_HOST)].map((url) => new URL(url).host);

  /** Records requests to other hosts, and errors such as violations of the policy. */
  const watch = (page: Page) => {
    page.on("request", (request) => {
      const { host, protocol } = new URL(request.url());
      if (protocol.startsWith("http") && !hosts.includes(host)) faults.push(`requests ${request.url()}`);
    });
    page.on("websocket", (socket) => {
      if (!hosts.includes(new URL(socket.url()).host)) faults.push(`opens ${socket.url()}`);
    });
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => {
      // Chromium reports every rejected request, which the pages show themselves.
      if (message.type() === "error" && !/^(Failed to load resource|WebSocket connection)/.test(message.text()))
        faults.push(message.text());
    });
  };

  return {
    service,
    key,
    faults,
    /** Opens a page of the console in a tab of its own; signs in unless there is no credential. */
    async open(path = "", credential: string | undefined = key, isKept = false, host = "127.0.0.1"): Promise<Page> {
      const context: BrowserContext = await browser.newContext({
        permissions: ["clipboard-read", "clipboard-write"],
        viewport: { width: 1280, height: 800 },
      });
      const page = await context.newPage();
      page.setDefaultTimeout(15_000);
      watch(page);
      await page.goto(`${at(host)}/console${path}`);
      if (credential !== "") await signIn(page, credential, isKept);
      return page;
    },
    async stop() {
      await browser.close();
      await service.stop();
    },
  };
};

export type Console = Awaited<ReturnType<typeof startConsole>>;

export const signIn = async (page: Page, credential: string, isKept = false): Promise<void> => {
  await page.getByLabel("API key or access token").fill(credential);
  if (isKept) await page.getByLabel("Stay signed in in this tab").check();
  await page.getByRole("button", { name: "Sign in" }).click();
};

export const clipboardOf = (page: Page): Promise<string> => page.evaluate(() => navigator.clipboard.readText());

/** Waits for an element with a text. */
export const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();
