// Turns that wait for answers to tool calls.
import { expect, test, vi } from "vitest";
import { createClient } from "../src/index.js";
import { newKey, type open, service, statuses, texts, unreliable, until, useService } from "./conversations.js";
import { memoryStorage } from "./memory-storage.js";

useService();

const CONFIG = {
  tools: [
    { name: "calculator", approval: "always" },
    { name: "open_cart", run: "client", description: "Opens the cart.", parameters: { type: "object" } },
    { name: "close_cart", run: "client", description: "Closes the cart.", parameters: { type: "object" } },
  ],
};

/** Returns a function that opens pages of one conversation. */
const pages = async (config: object = CONFIG) => {
  const agentId = await service.newAgent(config);
  const [key, kept] = [newKey(), memoryStorage()];
  return Object.assign(
    (storage = kept, fetch?: typeof globalThis.fetch) =>
      createClient({ url: service.url, apiKey: service.admin, ...(fetch && { fetch }), retries: 0 }).conversation({
        agentId,
        key,
        storage,
      }),
    { agentId, key },
  );
};

const replyOf = (chat: ReturnType<typeof open>) => chat.getSnapshot().messages.findLast(({ role }) => role === "agent");
const callsOf = (chat: ReturnType<typeof open>) => replyOf(chat)?.toolCalls ?? [];

test("a call is approved, and the reply continues in place", async () => {
  const chat = (await pages())();
  await chat.send("call calculator");
  expect(chat.getSnapshot()).toMatchObject({ status: "requires_action" });
  expect(statuses(chat.getSnapshot())).toEqual(["complete", "requires_action"]);
  const [call] = callsOf(chat);
  expect(call).toMatchObject({
    name: "calculator",
    status: "waiting",
    needs: "approval",
    approver: "user",
    arguments: { expression: "17 * 24" },
  });
  expect(Date.parse(call!.expiresAt!)).toBeGreaterThan(Date.now());
  const seen: string[] = [];
  chat.subscribe(() => void seen.push(replyOf(chat)?.text ?? ""));
  await chat.approve(call!.id);
  expect(chat.getSnapshot().status).toBe("ready");
  expect(replyOf(chat)).toMatchObject({ status: "complete", text: expect.stringMatching(/^Let me see\. \s+It returned .*408/) });
  expect(callsOf(chat)).toMatchObject([
    { status: "ok", result: "408", decidedBy: expect.stringMatching(/^key:/), decidedAt: expect.any(String) },
  ]);
  expect(callsOf(chat)[0]).not.toHaveProperty("needs");
  // The text only grows.
  for (const [index, text] of seen.entries()) expect(text.startsWith(seen[index - 1] ?? "")).toBe(true);
});

test("a call is denied with a reason, over a reload", async () => {
  const page = await pages();
  await page().send("call calculator");
  const reloaded = page();
  await reloaded.load();
  expect(reloaded.getSnapshot().status).toBe("requires_action");
  expect(statuses(reloaded.getSnapshot())).toEqual(["complete", "requires_action"]);
  await reloaded.deny(callsOf(reloaded)[0]!.id, "too dear");
  expect(reloaded.getSnapshot().status).toBe("ready");
  expect(callsOf(reloaded)).toMatchObject([{ status: "denied", result: expect.stringContaining("too dear") }]);
  expect(replyOf(reloaded)?.text).toContain("too dear");
});

test("calls of one round are answered one after the other", async () => {
  const chat = (await pages())();
  await chat.send("call calculator calculator");
  const [one, two] = callsOf(chat);
  const seen = new Set<string | undefined>();
  const unsubscribe = chat.subscribe(() => void seen.add(callsOf(chat)[1]?.needs));
  await chat.deny(one!.id);
  unsubscribe();
  // The other call waits all the time.
  expect([...seen]).toEqual(["approval"]);
  expect(chat.getSnapshot().status).toBe("requires_action");
  expect(callsOf(chat)).toMatchObject([{ status: "denied" }, { status: "waiting", needs: "approval" }]);
  expect(replyOf(chat)?.text).toBe("Let me see. ");
  await chat.approve(two!.id);
  expect(chat.getSnapshot().status).toBe("ready");
  expect(callsOf(chat)).toMatchObject([{ status: "denied" }, { status: "ok" }]);
});

test("tools of the page are called with their arguments, once, and their errors are sent", async () => {
  const chat = (await pages())();
  const cart = vi.fn(async () => ({ items: 3 }));
  const closed = vi.fn(() => {
    throw new Error("the cart is stuck");
  });
  chat.setTools({ open_cart: cart, close_cart: closed });
  await chat.send("call open_cart close_cart");
  await until(chat, ({ status }) => status === "ready");
  expect(cart.mock.calls).toEqual([[{ expression: "17 * 24" }]]);
  expect(closed).toHaveBeenCalledTimes(1);
  expect(callsOf(chat)).toMatchObject([
    { status: "ok", result: expect.stringContaining('"items":3') },
    { status: "failed", result: "the cart is stuck" },
  ]);
});

test.each([
  ["nothing", undefined, { status: "ok", result: "null" }],
  ["a function", () => {}, { status: "ok", result: "null" }],
  ["a number that JSON lacks", 1n, { status: "failed", result: expect.stringContaining("BigInt") }],
  ["too much", "x".repeat(70_000), { status: "failed", result: expect.stringContaining("output") }],
  ["far too much", "x".repeat(3_000_000), { status: "failed", result: expect.any(String) }],
])("a tool that returns %s is answered", async (_name, value, expected) => {
  const chat = (await pages())();
  chat.setTools({ open_cart: () => value });
  await chat.send("call open_cart");
  await until(chat, ({ status }) => status === "ready");
  expect(callsOf(chat)).toMatchObject([expected]);
});

test("a call that waits when the page loads is answered, also by a tool that is set later", async () => {
  const page = await pages();
  await page().send("call open_cart");
  const [late, reloaded] = [page(memoryStorage()), page()];
  await late.load();
  expect(late.getSnapshot().status).toBe("requires_action");
  const cart = vi.fn(() => "open");
  reloaded.setTools({ open_cart: cart });
  await reloaded.load();
  await until(reloaded, ({ status }) => status === "ready");
  late.setTools({ open_cart: cart });
  await until(late, ({ status }) => status === "ready");
  expect(cart).toHaveBeenCalledTimes(1);
  for (const chat of [late, reloaded]) {
    expect(callsOf(chat)).toMatchObject([{ status: "ok", result: "open" }]);
    chat.close();
  }
});

test("a message brings tools of the page for its turn", async () => {
  const chat = (await pages())();
  chat.setTools({ open_door: () => "ajar" });
  await chat.send("call open_door", { clientTools: [{ name: "open_door", description: "Opens it.", parameters: {} }] });
  await until(chat, ({ status }) => status === "ready");
  expect(callsOf(chat)).toMatchObject([{ name: "open_door", status: "ok", result: "ajar" }]);
});

test("names of JavaScript's own functions are no tools", async () => {
  const chat = (
    await pages({
      tools: [{ name: "toString", run: "client", description: "Nothing.", parameters: { type: "object" } }],
    })
  )();
  chat.setTools({});
  await chat.send("call toString");
  expect(chat.getSnapshot().status).toBe("requires_action");
});

test("what somebody else has answered is shown", async () => {
  const page = await pages();
  const [chat, other] = [page(), page(memoryStorage())];
  await chat.send("call calculator");
  await other.load();
  const { id } = callsOf(chat)[0]!;
  await Promise.all([chat.approve(id), other.deny(id)]);
  for (const { getSnapshot } of [chat, other]) expect(getSnapshot()).toMatchObject({ status: "ready" });
  expect(callsOf(chat)).toEqual(callsOf(other));
  expect(texts(chat.getSnapshot())).toEqual(texts(other.getSnapshot()));
  // A second click does nothing.
  await chat.approve(id);
  expect(chat.getSnapshot()).toMatchObject({ status: "ready" });
  for (const { close } of [chat, other]) close();
});

test("pages without events show what another has answered once they answer themselves", async () => {
  const page = await pages();
  const chat = page();
  await chat.send("call calculator");
  const blind = createClient({ url: service.url, apiKey: service.key("chat:write,conversations:read") }).conversation({
    agentId: page.agentId,
    key: page.key,
    storage: memoryStorage(),
  });
  await blind.load();
  await chat.deny(callsOf(chat)[0]!.id, "no");
  expect(blind.getSnapshot().status).toBe("requires_action");
  await blind.approve(callsOf(blind)[0]!.id);
  expect(blind.getSnapshot()).toMatchObject({ status: "ready" });
  expect(callsOf(blind)).toMatchObject([{ status: "denied" }]);
});

test("a page that follows shows each answer of another, and the text as it grows", async () => {
  const page = await pages();
  const [chat, other] = [page(), page(memoryStorage())];
  await other.load();
  await chat.load();
  await chat.send("call calculator");
  await until(other, ({ status }) => status === "requires_action");
  await chat.approve(callsOf(chat)[0]!.id);
  await until(other, ({ status }) => status === "ready");
  expect(other.getSnapshot().messages).toEqual(chat.getSnapshot().messages);
  for (const { close } of [chat, other]) close();
});

test("a reply that waits keeps waiting while its own events arrive", async () => {
  const page = await pages();
  const chat = page();
  await chat.load();
  await chat.send("call calculator");
  const seen = new Set<string>();
  chat.subscribe(() => void seen.add(`${chat.getSnapshot().status} ${callsOf(chat)[0]?.status}`));
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect([...seen].filter((shown) => shown !== "requires_action waiting")).toEqual([]);
  chat.close();
});

test("a new message dismisses the calls that wait", async () => {
  const page = await pages();
  const [chat, other] = [page(), page(memoryStorage())];
  await other.load();
  await chat.send("call calculator");
  await chat.send("Hello");
  const dismissed = (state = chat.getSnapshot()) => state.messages[1]?.toolCalls[0]?.status === "dismissed";
  expect(dismissed()).toBe(true);
  expect(chat.getSnapshot().status).toBe("ready");
  expect(statuses(chat.getSnapshot())).toEqual(["complete", "complete", "complete", "complete"]);
  await until(other, (state) => state.status === "ready" && dismissed(state));
  other.close();
});

test("stop cancels a turn that waits, and regenerate replaces it", async () => {
  const chat = (await pages())();
  await chat.send("call calculator");
  await chat.stop();
  expect(chat.getSnapshot().status).toBe("ready");
  expect(statuses(chat.getSnapshot())).toEqual(["cancelled", "cancelled"]);
  expect(callsOf(chat)).toMatchObject([{ status: "cancelled" }]);
  await chat.send("call calculator");
  const before = callsOf(chat)[0]!.id;
  await chat.regenerate();
  expect(chat.getSnapshot().status).toBe("requires_action");
  expect(chat.getSnapshot().messages).toHaveLength(4);
  expect(callsOf(chat)[0]!.id).not.toBe(before);
});

test("an answer that could not be sent is sent again, and its function is not called again", async () => {
  const network = unreliable();
  const chat = (await pages())(memoryStorage(), network.fetch);
  await chat.load();
  const cart = vi.fn(async () => {
    network.isOffline = true;
    setTimeout(() => (network.isOffline = false), 1_500);
    return "open";
  });
  chat.setTools({ open_cart: cart });
  await chat.send("call open_cart");
  await until(chat, ({ status }) => status === "failed");
  await until(chat, ({ status }) => status === "ready");
  expect(cart).toHaveBeenCalledTimes(1);
  expect(callsOf(chat)).toMatchObject([{ status: "ok", result: "open" }]);
  chat.close();
}, 30_000);

test("an answer whose stream is cut takes effect once", async () => {
  let cuts = 0;
  const cutting: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).endsWith("/actions") || cuts > 0) return response;
    cuts += 1;
    await response.body?.cancel();
    return new Response(new ReadableStream({ start: (controller) => controller.error(new TypeError("cut")) }), response);
  };
  const page = await pages();
  const chat = createClient({ url: service.url, apiKey: service.admin, fetch: cutting }).conversation({
    agentId: page.agentId,
    key: page.key,
    storage: memoryStorage(),
  });
  await chat.send("call calculator");
  await chat.approve(callsOf(chat)[0]!.id);
  expect(cuts).toBe(1);
  expect(chat.getSnapshot().status).toBe("ready");
  expect(replyOf(chat)?.text).toMatch(/^Let me see\. \s+It returned .*408/);
});

test("the stream of one message ends where the turn waits", async () => {
  const { agentId } = await pages();
  const client = createClient({ url: service.url, apiKey: service.admin });
  const types: string[] = [];
  let turnId = "";
  let callId = "";
  for await (const part of client.chat({ agentId, message: "call calculator" })) {
    types.push(part.type);
    if (part.type !== "turn.requires_action") continue;
    turnId = part.turnId;
    callId = part.toolCalls[0]!.id!;
  }
  expect(types).toEqual(["turn.started", "reply.delta", "tool.called", "turn.requires_action"]);
  const turn = await client.turns.answer(turnId, { actions: [{ callId, decision: "approve" }] });
  expect(turn.status).toBe("completed");
});
