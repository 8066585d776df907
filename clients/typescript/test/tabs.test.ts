// Quality 6: one socket for all tabs, which pages that sleep, hide or lose the network do not break.
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createClient } from "../src/index.js";
import type { Settings } from "./pages/tab.js";
import { eventsOf, messagesOf, repliesOf, send, startPages, stateOf, words } from "./pages.js";

let pages: Awaited<ReturnType<typeof startPages>>;
let context: BrowserContext;
let settings: Settings;
let sockets: string[];

beforeAll(async () => {
  pages = await startPages();
});
afterAll(() => pages?.stop());
beforeEach(async () => {
  const { service } = pages;
  context = await pages.newContext();
  sockets = [];
  const token = service.key("chat:write,conversations:read,events:read");
  settings = { url: service.url, token, agentId: await service.newAgent(), key: "tabs", followsEvents: true };
});
afterEach(() => context.close());

const openTab = (script?: () => void): Promise<Page> =>
  pages.open(context, settings, async (page) => {
    page.on("websocket", (socket) => sockets.push(socket.url()));
    if (script) await page.addInitScript(script);
  });

/** Each text that was shown continues the one before: nothing is missing, and nothing is shown twice. */
const expectGrowth = (replies: string[], whole: string): void => {
  for (const [index, text] of replies.entries()) {
    expect(whole.startsWith(text), text).toBe(true);
    expect(text.length).toBeGreaterThan(replies[index - 1]?.length ?? -1);
  }
  expect(replies.at(-1)).toBe(whole);
};

const expectWhole = async (tab: Page, count: number, pause: number): Promise<void> => {
  const expected = [`complete words ${count} ${pause}`, `complete ${words(count)}`];
  await expect.poll(() => messagesOf(tab), { timeout: 15_000 }).toEqual(expected);
  expectGrowth(await repliesOf(tab), words(count));
};

/** The tab knows of the creation of the conversation, and of the start and the end of its turn. */
const expectEvents = async (tabs: Page[]): Promise<void> => {
  for (const tab of tabs) {
    const types = async () => (await eventsOf(tab)).map((event) => event.split(" ")[1]);
    await expect.poll(types).toEqual(["conversation.created", "turn.started", "turn.completed"]);
    expect(await eventsOf(tab)).toEqual(await eventsOf(tabs[0]!));
  }
};

const seenBy = async (tab: Page, count: number): Promise<void> => {
  await expect.poll(async () => (await repliesOf(tab)).length).toBeGreaterThan(count);
};

test("a reply grows in every tab, also when the leader is closed in mid-reply", async () => {
  const [leader, sender, other] = [await openTab(), await openTab(), await openTab()];
  await expect.poll(() => sockets).toHaveLength(1);
  await send(sender, "words 60 25");
  for (const tab of [leader, other]) await seenBy(tab, 3);
  await leader.close();
  for (const tab of [sender, other]) await expectWhole(tab, 60, 25);
  await expectEvents([sender, other]);
  expect((await repliesOf(other)).length).toBeGreaterThan(20);
  await expect.poll(() => sockets).toHaveLength(2);
});

test("a page that opens in mid-reply shows it from its beginning", async () => {
  const [leader, sender] = [await openTab(), await openTab()];
  await send(sender, "words 60 25");
  await seenBy(leader, 3);
  const late = openTab();
  await expectWhole(leader, 60, 25);
  await expectWhole(await late, 60, 25);
  await expect.poll(() => sockets).toHaveLength(1);
});

/** Stops the scripts of a page; the function that is returned continues them. */
const suspend = async (tab: Page): Promise<() => Promise<void>> => {
  const devtools = await context.newCDPSession(tab);
  await devtools.send("Debugger.enable");
  await devtools.send("Debugger.pause");
  // The pause takes effect at the next statement.
  tab.evaluate(() => {}).catch(() => {});
  return async () => {
    await devtools.send("Debugger.resume");
    await devtools.detach();
  };
};

/** The page sleeps, as if the browser had frozen it. A headless browser freezes no pages itself. */
const freeze = async (tab: Page): Promise<() => Promise<void>> => {
  const dispatch = (name: string) => tab.evaluate((type) => void document.dispatchEvent(new Event(type)), name);
  await dispatch("freeze");
  const wake = await suspend(tab);
  return async () => {
    await wake();
    await dispatch("resume");
  };
};

test("a leader that sleeps hands over, and misses nothing once it wakes", async () => {
  const [leader, sender, other] = [await openTab(), await openTab(), await openTab()];
  await send(sender, "words 60 25");
  await seenBy(other, 3);
  const wake = await freeze(leader);
  await expect.poll(() => sockets).toHaveLength(2);
  await expectWhole(other, 60, 25);
  await wake();
  for (const tab of [leader, sender]) await expectWhole(tab, 60, 25);
  await expectEvents([leader, sender, other]);
});

test("a tab that sleeps through a whole turn shows it once it wakes", async () => {
  const [sender, sleeper] = [await openTab(), await openTab()];
  const wake = await freeze(sleeper);
  await send(sender, "words 5 5");
  await expectWhole(sender, 5, 5);
  await wake();
  await expect.poll(() => messagesOf(sleeper)).toEqual(["complete words 5 5", `complete ${words(5)}`]);
  await expectEvents([sender, sleeper]);
});

test("a page that is alone continues once it wakes, and once it opens its conversation again", async () => {
  const page = await openTab();
  await expect.poll(() => sockets).toHaveLength(1);
  const device = createClient({ url: pages.service.url, apiKey: settings.token });
  const chat = device.conversation({ agentId: settings.agentId, key: settings.key });
  const wake = await freeze(page);
  await chat.send("words 5 5");
  await wake();
  await expectWhole(page, 5, 5);
  await expectEvents([page]);
  await page.evaluate(() => {
    window.tab.stopEvents();
    window.tab.chat.close();
    return window.tab.chat.load();
  });
  await chat.send("Hello");
  await expect.poll(async () => (await messagesOf(page)).at(-1)).toBe("complete You said: Hello");
});

test("a leader that hangs is replaced when another tab is looked at", async () => {
  const [leader, other] = [await openTab(), await openTab()];
  await expect.poll(() => sockets).toHaveLength(1);
  const wake = await suspend(leader);
  await other.evaluate(() => void document.dispatchEvent(new Event("visibilitychange")));
  await expect.poll(() => sockets, { timeout: 10_000 }).toHaveLength(2);
  await send(other, "words 5 5");
  await expectWhole(other, 5, 5);
  await expectEvents([other]);
  await wake();
  await expect.poll(() => messagesOf(leader)).toEqual(["complete words 5 5", `complete ${words(5)}`]);
  await expectEvents([other, leader]);
});

test("a page that was offline continues as soon as it is online again", async () => {
  const [sender, other] = [await openTab(), await openTab()];
  await send(sender, "words 40 25");
  await seenBy(other, 3);
  await context.setOffline(true);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await context.setOffline(false);
  for (const tab of [sender, other]) await expectWhole(tab, 40, 25);
  await expectEvents([sender, other]);
});

test("a message that was written offline is sent as soon as the browser is online again", async () => {
  const [sender, other] = [await openTab(), await openTab()];
  await context.setOffline(true);
  await send(sender, "words 5 5");
  await expect.poll(() => messagesOf(sender)).toEqual(["sending words 5 5"]);
  await expect.poll(async () => (await stateOf(sender)).status, { timeout: 10_000 }).toBe("failed");
  expect((await stateOf(sender)).error).toMatchObject({ code: "offline", title: "You are offline.", retryable: true });
  await context.setOffline(false);
  for (const tab of [sender, other]) await expectWhole(tab, 5, 5);
  await expect.poll(() => pages.service.turns(settings.agentId, settings.key)).toEqual(["completed"]);
});

/** The script that makes a browser, and the number of sockets of three tabs. */
const browsers: [name: string, script: () => void, sockets: number][] = [
  ["with Web Locks and BroadcastChannel", () => {}, 1],
  ["without Web Locks", () => Object.defineProperty(Navigator.prototype, "locks", { value: undefined }), 3],
  ["without BroadcastChannel", () => Object.defineProperty(globalThis, "BroadcastChannel", { value: undefined }), 3],
];

test.each(browsers)("%s, tabs hear each other over a reload, the end of a leader, and sleep", async (_name, script, count) => {
  const [leader, sender, other] = [await openTab(script), await openTab(script), await openTab(script)];
  await expect.poll(() => sockets).toHaveLength(count);
  const all: string[] = [];
  const expectHeard = async (...tabs: Page[]) => {
    const length = all.length + 1;
    all.push(`complete words ${length} 5`, `complete ${words(length)}`);
    await send(sender, `words ${length} 5`);
    for (const tab of tabs) await expect.poll(() => messagesOf(tab)).toEqual(all);
  };
  await expectHeard(leader, sender, other);
  for (const tab of [leader, other]) {
    await tab.reload();
    await tab.evaluate((given) => window.start(given), settings);
    await expectHeard(leader, sender, other);
  }
  for (const [sleep, wake] of [
    ["pagehide", "pageshow"],
    ["freeze", "resume"],
  ] as const) {
    for (const tab of [leader, sender, other]) {
      await tab.evaluate((name) => void (name === "freeze" ? document : window).dispatchEvent(new Event(name)), sleep);
      await expectHeard(...[leader, sender, other].filter((awake) => awake !== tab));
      await tab.evaluate((name) => void (name === "resume" ? document : window).dispatchEvent(new Event(name)), wake);
      await expectHeard(leader, sender, other);
    }
  }
  await leader.close();
  await expectHeard(sender, other);
});

test("without Web Locks, each tab uses its own socket", async () => {
  const [, withoutLocks] = browsers[1]!;
  const [sender, other] = [await openTab(withoutLocks), await openTab(withoutLocks)];
  await expect.poll(() => sockets).toHaveLength(2);
  await send(sender, "words 20 10");
  for (const tab of [sender, other]) await expectWhole(tab, 20, 10);
  await expectEvents([sender, other]);
});

test("where sockets are blocked, server-sent events replace them", async () => {
  const withoutSockets = () => {
    globalThis.WebSocket = class extends WebSocket {
      constructor(url: string) {
        super(url.replace("/api/ws", "/blocked"));
      }
    } as typeof WebSocket;
  };
  const [sender, other] = [await openTab(withoutSockets), await openTab(withoutSockets)];
  await send(sender, "words 60 25");
  for (const tab of [sender, other]) await expectWhole(tab, 60, 25);
  await expectEvents([sender, other]);
});
