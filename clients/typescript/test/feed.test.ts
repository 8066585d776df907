// The states of a tab that follows something, and each way between them.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { joinTabs } from "../src/tabs.js";
import { createTransport } from "../src/transport.js";
import { Tab } from "./feed-tabs.js";
import { createLocks } from "./locks.js";
import { type Service, startService } from "./service.js";

let service: Service;
/** Those of the runtime, if it has any. */
let locks: LockManager;
let tabs: Tab[];

beforeAll(async () => {
  service = await startService();
  locks = globalThis.navigator?.locks ?? createLocks();
});
afterAll(() => service.stop());
beforeEach(() => {
  tabs = [];
});
afterEach(async () => {
  for (const tab of tabs) tab.stop();
  for (const tab of tabs) await expect.poll(() => tab.sockets).toBe(0);
  vi.unstubAllGlobals();
});

const openTab = async (): Promise<Tab> => {
  const tab = await Tab.open(service);
  tabs.push(tab);
  return tab;
};

type Action = "follow" | "stop" | "sleep" | "wake" | "know" | "look";
type Start = (tab: Tab) => Promise<void>;

const lead: Start = async (tab) => {
  tab.follow();
  await tab.expectToLead();
};

const join: Start = async (tab) => {
  tab.isUnknown = true;
  tab.follow();
  await tab.expectNothing();
};

/** Brings a tab into a state by way of others. */
const leave =
  (...actions: Action[]): Start =>
  async (tab) => {
    await lead(tab);
    for (const action of actions) tab[action]();
    await tab.expectNothing();
  };
const left = leave("stop");
const asleep = leave("sleep");

const ways: [from: string, actions: Action[], start: Start, leads: boolean][] = [
  ["left", ["follow"], left, true],
  ["left", ["sleep", "wake", "look"], left, false],
  ["left", ["follow", "stop"], left, false],
  ["asleep", ["wake"], asleep, true],
  ["asleep", ["sleep", "look"], asleep, false],
  ["asleep", ["stop"], asleep, false],
  ["asleep", ["stop", "wake"], asleep, false],
  ["joining", ["know"], join, true],
  ["joining", ["stop", "know"], join, false],
  ["joining", ["sleep", "know"], join, false],
  ["joining", ["sleep", "know", "wake"], join, true],
  ["joining", ["sleep", "wake", "know"], join, true],
  ["leader", ["stop"], lead, false],
  ["leader", ["sleep"], lead, false],
  ["leader", ["wake", "look"], lead, true],
  ["leader", ["stop", "follow"], lead, true],
  ["leader", ["sleep", "wake"], lead, true],
];

const browsers: [string, () => object][] = [
  ["without Web Locks", () => ({ navigator: {} })],
  ["without BroadcastChannel", () => ({ navigator: { locks }, BroadcastChannel: undefined })],
  ["with Web Locks and BroadcastChannel", () => ({ navigator: { locks } })],
];

const prepare = (globals: object): void => Object.entries(globals).forEach(([name, value]) => vi.stubGlobal(name, value));

for (const [browser, globals] of browsers) {
  test.each(ways)(`${browser}, a tab that is alone misses nothing: %s, %o`, async (_from, actions, start, leads) => {
    prepare(globals());
    const tab = await openTab();
    await start(tab);
    for (const action of actions) tab[action]();
    if (leads) return tab.expectToLead();
    await tab.expectNothing();
    for (const action of ["stop", "know", "wake"] as const) tab[action]();
    for (let time = 0; time < 2; time += 1) {
      await lead(tab);
      tab.stop();
      await tab.expectNothing();
    }
  });
}

/** A leader, and a tab that follows it. */
const openTwo = async (): Promise<[Tab, Tab]> => {
  prepare({ navigator: { locks } });
  const [leader, tab] = [await openTab(), await openTab()];
  await lead(leader);
  tab.follow();
  await tab.expectToFollow(leader);
  return [leader, tab];
};

test.each<[Action, Action]>([
  ["stop", "follow"],
  ["sleep", "wake"],
])("a follower misses nothing by %s and %s", async (end, begin) => {
  const [leader, tab] = await openTwo();
  for (let time = 0; time < 2; time += 1) {
    tab[end]();
    await tab.expectNothing();
    await leader.expectAll();
    tab[begin]();
    await tab.expectToFollow(leader);
    tab[end]();
    tab[begin]();
    await tab.expectToFollow(leader);
  }
  expect([leader.opened, tab.opened]).toEqual([1, 0]);
});

test.each<[Action, Action]>([
  ["stop", "follow"],
  ["sleep", "wake"],
])("two tabs hand the lead over by %s and %s", async (end, begin) => {
  let [leader, tab] = await openTwo();
  for (let time = 0; time < 4; time += 1) {
    leader[end]();
    await tab.expectToLead();
    await leader.expectNothing();
    leader[begin]();
    await leader.expectToFollow(tab);
    [leader, tab] = [tab, leader];
  }
  expect([leader.opened, tab.opened]).toEqual([3, 2]);
});

test("a tab whose principal becomes known while another one leads follows it", async () => {
  prepare({ navigator: { locks } });
  const [leader, tab] = [await openTab(), await openTab()];
  await lead(leader);
  await join(tab);
  tab.know();
  await tab.expectToFollow(leader);
});

/** Takes the lock, as a tab does that hangs; the function that is returned closes this tab. */
const hang = async (steal: boolean): Promise<() => void> => {
  const name = `agent-service:${(await createTransport({ url: service.url, getToken: () => service.admin }).identity()).join(" ")}`;
  return new Promise((held) => {
    locks.request(name, { steal }, () => new Promise<void>((close) => held(close))).catch(() => {});
  });
};

test("a leader whose lead is taken follows, and leads again later", async () => {
  prepare({ navigator: { locks } });
  const tab = await openTab();
  await lead(tab);
  for (let time = 0; time < 2; time += 1) {
    const close = await hang(true);
    await tab.expectNothing();
    close();
    await tab.expectToLead();
  }
});

test("a tab takes the lead from one that hangs, once it is looked at", async () => {
  prepare({ navigator: { locks } });
  await hang(false);
  const tab = await openTab();
  tab.follow();
  await tab.expectNothing();
  tab.look();
  await tab.expectToLead();
});

test("a tab that follows something else at once keeps its socket", async () => {
  prepare({ navigator: { locks } });
  const tab = await openTab();
  await lead(tab);
  for (let time = 0; time < 3; time += 1) {
    tab.stop();
    tab.follow();
    await tab.expectToLead();
  }
  expect(tab.opened).toBe(1);
});

test.each([new TypeError("of the client"), new DOMException("of the client", "AbortError")])(
  "an error of a tab that begins to lead starts no election: %s",
  async (error) => {
    prepare({ navigator: { locks } });
    const reported = vi.spyOn(console, "warn").mockImplementation(() => {});
    const calls: boolean[] = [];
    const tab = joinTabs("errors", {
      lead(isLeader) {
        calls.push(isLeader);
        if (calls.length === 1) throw error;
      },
      receive() {},
    });
    tab.elect();
    await expect.poll(() => calls.length).toBeGreaterThan(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(calls).toEqual([true, true]);
    tab.close();
    reported.mockRestore();
  },
);
