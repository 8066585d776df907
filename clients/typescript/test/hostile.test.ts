// Browsers whose interfaces are missing, throw or reject: pages work without them, and tell why once.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { BrowserContext, Page, Route } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createClient } from "../src/index.js";
import type { Settings } from "./pages/tab.js";
import { eventsOf, messagesOf, send, startPages, words } from "./pages.js";

let pages: Awaited<ReturnType<typeof startPages>>;
let context: BrowserContext;
let settings: Settings;
/** What all pages have opened, requested and reported. */
let sockets: string[];
let tickets: string[];
let reports: Map<Page, string[]>;

beforeAll(async () => {
  pages = await startPages();
});
afterAll(() => pages?.stop());
beforeEach(async () => {
  const { service } = pages;
  context = await pages.newContext();
  [sockets, tickets, reports] = [[], [], new Map()];
  const token = service.key("chat:write,conversations:read,events:read");
  settings = { url: service.url, token, agentId: await service.newAgent(), key: "hostile", followsEvents: true };
});
afterEach(() => context.close());

const openTab = (script: () => void): Promise<Page> =>
  pages.open(context, settings, async (page) => {
    const own: string[] = [];
    reports.set(page, own);
    page.on("websocket", (socket) => sockets.push(socket.url()));
    page.on(
      "request",
      (request) => request.url().endsWith("/api/ws/tickets") && request.method() === "POST" && tickets.push(request.url()),
    );
    page.on("console", (message) => message.type() === "warning" && own.push(message.text()));
    page.on("pageerror", (error) => own.push(String(error)));
    await page.addInitScript(script);
  });

/** Another device, which shares nothing with the pages. */
const openDevice = () => createClient({ url: settings.url, apiKey: settings.token, webSocket: null }).conversation(settings);

/** Follows three events, and stops. Returns their number; fewer if they do not arrive. */
const followThree = async (page: Page): Promise<number> => {
  const received = page.evaluate(async () => {
    const { service } = window.tab;
    const { headSeq } = await service.events.list({});
    const stopping = new AbortController();
    setTimeout(() => stopping.abort(), 5_000);
    let count = 0;
    const follow = async () => {
      for await (const _ of service.events({ since: headSeq, signal: stopping.signal })) if ((count += 1) === 3) stopping.abort();
    };
    await follow().catch(() => {});
    return count;
  });
  // It has read the past events, so that these are new to it.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await pages.service.newAgent();
  const { agentId, token, url } = settings;
  for await (const _ of createClient({ url, apiKey: token }).chat({ agentId, message: "Hello" }));
  return received;
};

const complete = (...texts: string[]) => texts.map((text) => `complete ${text}`);

const LOCKS = "Tabs share no connection";
const SOCKETS = "No socket is used";
const STORAGE = "A reload loses unsent messages";

/** A browser: the script that makes it, the number of sockets of two tabs, and what each tab reports. */
const browsers: [name: string, script: () => void, sockets: number, report?: string][] = [
  ["all is there", () => {}, 1],
  ["there are no Web Locks", () => Object.defineProperty(Navigator.prototype, "locks", { value: undefined }), 2],
  ["there is no BroadcastChannel", () => Object.defineProperty(globalThis, "BroadcastChannel", { value: undefined }), 2],
  [
    "new BroadcastChannel throws",
    () => {
      globalThis.BroadcastChannel = class {
        constructor() {
          throw new DOMException("The operation is insecure.", "SecurityError");
        }
      } as unknown as typeof BroadcastChannel;
    },
    2,
    LOCKS,
  ],
  [
    "postMessage throws",
    () => {
      BroadcastChannel.prototype.postMessage = () => {
        throw new TypeError("expected i32");
      };
    },
    2,
    LOCKS,
  ],
  [
    "postMessage throws after a while",
    () => {
      const { postMessage } = BroadcastChannel.prototype;
      let count = 0;
      BroadcastChannel.prototype.postMessage = function (message: unknown) {
        if ((count += 1) > 4) throw new TypeError("expected i32");
        postMessage.call(this, message);
      };
    },
    2,
    LOCKS,
  ],
  [
    "postMessage throws as a tab begins to lead",
    () => {
      const { postMessage } = BroadcastChannel.prototype;
      BroadcastChannel.prototype.postMessage = function (message: { type: string }) {
        if (message.type === "leads") throw new TypeError("expected i32");
        postMessage.call(this, message);
      };
    },
    2,
    LOCKS,
  ],
  [
    "a lock is rejected as insecure",
    () => {
      LockManager.prototype.request = async () => {
        throw new DOMException("The request was denied.", "SecurityError");
      };
    },
    2,
    LOCKS,
  ],
  [
    "a lock is rejected for another reason",
    () => {
      LockManager.prototype.request = async () => {
        throw new DOMException("The document is not active.", "InvalidStateError");
      };
    },
    2,
    LOCKS,
  ],
  [
    "a lock is rejected like a stolen one that was never held",
    () => {
      LockManager.prototype.request = async () => {
        throw new DOMException("The request was aborted.", "AbortError");
      };
    },
    2,
    LOCKS,
  ],
  [
    "a lock is rejected while it is held",
    () => {
      LockManager.prototype.request = async (...[, , hold]: unknown[]) => {
        void (hold as () => void)();
        throw new DOMException("The document is not active.", "InvalidStateError");
      };
    },
    2,
    LOCKS,
  ],
  [
    "requesting a lock throws",
    () => {
      LockManager.prototype.request = () => {
        throw new TypeError("Illegal invocation");
      };
    },
    2,
    LOCKS,
  ],
  [
    "new WebSocket throws",
    () => {
      globalThis.WebSocket = class {
        constructor() {
          throw new DOMException("An insecure connection may not be initiated.", "SecurityError");
        }
      } as unknown as typeof WebSocket;
    },
    0,
    SOCKETS,
  ],
  [
    "sessionStorage throws",
    () => {
      Object.defineProperty(globalThis, "sessionStorage", {
        get() {
          throw new DOMException("Access is denied for this document.", "SecurityError");
        },
      });
    },
    1,
    STORAGE,
  ],
  [
    "the storage is full",
    () => {
      Storage.prototype.setItem = () => {
        throw new DOMException("The quota has been exceeded.", "QuotaExceededError");
      };
    },
    1,
    STORAGE,
  ],
];

test.each(browsers)("pages follow and stop as often as they like where %s", async (_name, script, count, report) => {
  const [page, other] = [await openTab(script), await openTab(script)];
  await expect.poll(() => sockets).toHaveLength(count);
  await send(page, "words 5 5");
  for (const tab of [page, other]) await expect.poll(() => messagesOf(tab)).toEqual(complete("words 5 5", words(5)));
  const types = async () => (await eventsOf(other)).map((event) => event.split(" ")[1]);
  await expect.poll(types).toEqual(["conversation.created", "turn.started", "turn.completed"]);
  // Nothing else is followed from now on.
  await page.evaluate(() => {
    window.tab.stopEvents();
    window.tab.chat.close();
  });
  expect([await followThree(page), await followThree(page), await followThree(page)]).toEqual([3, 3, 3]);
  for (const text of ["one", "two"]) {
    await page.evaluate(() => window.tab.chat.load());
    await openDevice().send(text);
    for (const tab of [page, other]) await expect.poll(async () => (await messagesOf(tab)).at(-1)).toBe(`complete You said: ${text}`);
    await page.evaluate(() => window.tab.chat.close());
  }
  expect(reports.get(page)).toEqual(report ? [expect.stringContaining(report)] : []);
  expect(reports.get(other)!.filter((text) => !report || !text.includes(report))).toEqual([]);
  expect(reports.get(other)!.length).toBeLessThan(2);
});

test("a new conversation that is alone on its page hears another device, over one socket with one ticket", async () => {
  settings.followsEvents = false;
  for (const script of [() => {}, browsers[1]![1]]) {
    settings.key += "x";
    const page = await openTab(script);
    await expect.poll(() => sockets).toHaveLength(1);
    for (const text of ["one", "two"]) {
      await send(page, text);
      await expect.poll(async () => (await messagesOf(page)).at(-1)).toBe(`complete You said: ${text}`);
      await openDevice().send(`${text} of another device`);
      await expect.poll(async () => (await messagesOf(page)).at(-1)).toBe(`complete You said: ${text} of another device`);
    }
    expect([sockets.length, tickets.length]).toEqual([1, 1]);
    await page.close();
    [sockets, tickets] = [[], []];
  }
});

/** Serves the code of pages in several files. `lose` can answer the requests for that of events. */
const serveCode = async (lose: (route: Route) => Promise<void> | undefined): Promise<void> => {
  const entryPoints = { page: fileURLToPath(new URL("./pages/tab.ts", import.meta.url)) };
  const { outputFiles } = await build({ entryPoints, bundle: true, splitting: true, format: "esm", outdir: "/", write: false });
  await context.route(`${pages.origin}/*.js`, (route) => {
    const { pathname } = new URL(route.request().url());
    const body = () => outputFiles.find(({ path }) => path === pathname)!.text;
    return (pathname.startsWith("/feed") && lose(route)) || route.fulfill({ contentType: "text/javascript", body: body() });
  });
};

test("a page whose code for events is lost sends meanwhile, and follows once it has arrived", async () => {
  let losses = 0;
  await serveCode((route) => {
    if (losses === 3) return undefined;
    losses += 1;
    return route.abort();
  });
  const page = await openTab(() => {});
  await send(page, "one");
  await expect.poll(() => messagesOf(page)).toEqual(complete("one", "You said: one"));
  await expect.poll(() => losses).toBe(3);
  await openDevice().send("two");
  await expect.poll(async () => (await messagesOf(page)).at(-1)).toBe("complete You said: two");
  expect(reports.get(page)).toEqual([expect.stringContaining("Events cannot be followed yet")]);
});

test("a page whose code for events fails sends nevertheless, and rests between its attempts", async () => {
  await serveCode((route) => route.fulfill({ contentType: "text/javascript", body: "throw new ReferenceError('broken')" }));
  const page = await openTab(() => {});
  await send(page, "one");
  await expect.poll(() => messagesOf(page)).toEqual(complete("one", "You said: one"));
  expect(reports.get(page)).toEqual([expect.stringContaining("Events cannot be followed yet")]);
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");
  const busySeconds = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration")!.value;
  const before = await busySeconds();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect((await busySeconds()) - before).toBeLessThan(0.2);
});

test.each([undefined, {}])("a client tells what is missing where `crypto` is %o", (crypto) => {
  vi.stubGlobal("crypto", crypto);
  const create = () => createClient({ url: settings.url });
  expect(create).toThrow(new TypeError("crypto.getRandomValues is missing: load a polyfill"));
  vi.unstubAllGlobals();
});
