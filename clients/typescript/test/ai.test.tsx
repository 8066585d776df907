// @vitest-environment jsdom
import { useChat } from "@ai-sdk/react";
import { act, cleanup, render } from "@testing-library/react";
import type { UIMessage } from "ai";
import { StrictMode } from "react";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createChatTransport } from "../src/ai/index.js";
import { createClient } from "../src/index.js";
import { type Service, startService } from "./service.js";

let service: Service;
let agentId: string;
let number = 0;

beforeAll(async () => {
  service = await startService();
  agentId = await service.newAgent();
});
afterEach(() => {
  cleanup();
  service.relay.cutAfter(Infinity);
});
afterAll(() => service.stop());

const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index + 1} `).join("");

/** Opens the page of a chat; again for a reload. Its service is behind a relay, which can cut its connections. */
const open = async (id = `chat${number++}`, fetch = globalThis.fetch) => {
  const transport = createChatTransport(createClient({ url: service.relay.url, apiKey: service.admin, fetch }), { agentId });
  const messages = await transport.load(id);
  let resumed: Promise<unknown> = Promise.resolve();
  const { reconnectToStream } = transport;
  transport.reconnectToStream = (options) => {
    const reply = reconnectToStream(options);
    resumed = reply.catch(() => {});
    return reply;
  };
  let chat!: ReturnType<typeof useChat>;
  const Page = () => {
    chat = useChat({ id, messages, transport, resume: true });
    return null;
  };
  const { unmount } = render(<Page />, { wrapper: StrictMode });
  // The chat is `ready` when it has found nothing to resume, even if it was sending meanwhile.
  await act(() => resumed);
  const textOf = ({ parts }: UIMessage) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  return {
    id,
    unmount,
    get status() {
      return chat.status;
    },
    get error() {
      return chat.error?.message;
    },
    get messages() {
      return chat.messages;
    },
    get texts() {
      return chat.messages.map(textOf);
    },
    send: (text: string, messageId?: string) => act(() => void chat.sendMessage({ text, ...(messageId ? { messageId } : {}) })),
    regenerate: (messageId?: string) => act(() => void chat.regenerate(messageId ? { messageId } : {})),
    stop: () => act(() => chat.stop()),
    turns: () => service.turns(agentId, id),
    until: (...texts: string[]) => expect.poll(() => [chat.status, ...chat.messages.map(textOf)]).toEqual(["ready", ...texts]),
    shows: (text: string) => expect.poll(() => chat.messages.map(textOf).at(-1)).toBe(text),
  };
};

test("the versions are those of the project", async () => {
  const { name, version } = (await import(process.env.AI_SDK === "7" ? "ai/package.json" : "./older/node_modules/ai/package.json")).default;
  expect([name, version.split(".")[0]]).toEqual(["ai", process.env.AI_SDK]);
});

test("a message is answered, and a reload shows the same", async () => {
  const chat = await open();
  chat.send("tool");
  await chat.until("tool", "Let me see. That is it.");
  const calls = (messages: UIMessage[]) => messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "tool-calculator"));
  expect(calls(chat.messages)).toMatchObject([{ state: "output-available", output: "408" }]);
  const reloaded = await open(chat.id);
  expect(reloaded.texts).toEqual(chat.texts);
  expect(reloaded.messages.map(({ id }) => id)).toEqual(chat.messages.map(({ id }) => id));
  expect(calls(reloaded.messages)).toMatchObject(calls(chat.messages).map(({ type }) => ({ type })));
});

test("a cut at every part leaves one turn with the whole text", async () => {
  for (let position = 1; position <= 16; position += 1) {
    const chat = await open();
    service.relay.cutAfter(position);
    chat.send("words 10 1");
    await chat.until("words 10 1", words(10));
    await expect.poll(() => chat.turns()).toEqual(["completed"]);
    chat.unmount();
  }
  expect(service.relay.cuts).toBeGreaterThan(10);
});

test("repeated cuts and an outage in the middle of a reply leave one turn with the whole text", async () => {
  const chat = await open();
  service.relay.cutAfter(5, { again: true });
  chat.send("words 30 10");
  await expect.poll(() => chat.texts[1]?.length ?? 0).toBeGreaterThan(30);
  service.relay.refuse();
  await new Promise((resolve) => setTimeout(resolve, 300));
  service.relay.accept();
  service.relay.cutAfter(Infinity);
  await chat.until("words 30 10", words(30));
  await expect.poll(() => chat.turns()).toEqual(["completed"]);
});

test("a message whose response is lost is sent once", async () => {
  let lost = 0;
  const chat = await open(undefined, async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method !== "POST" || lost === 2) return response;
    lost += 1;
    await response.body?.cancel();
    throw new TypeError("fetch failed");
  });
  chat.send("Hello");
  await chat.until("Hello", "You said: Hello");
  expect(lost).toBe(2);
  await expect.poll(() => chat.turns()).toEqual(["completed"]);
});

test("a connection that is cut again and again is not replaced at once", async () => {
  let requests = 0;
  const fetch = async () => {
    requests += 1;
    return new Response('data: {"type":"start","messageId":"m"}\n\n');
  };
  const stream = await createChatTransport({ fetch }, { agentId }).reconnectToStream({ chatId: "cut" });
  const reader = stream!.getReader();
  expect((await reader.read()).value).toEqual({ type: "start", messageId: "m" });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(requests).toBeGreaterThan(1);
  expect(requests).toBeLessThan(6);
  await reader.cancel();
});

test("a page that reloads in the middle of a reply shows it to its end, in strict mode too", async () => {
  const chat = await open();
  chat.send("hold");
  await chat.shows("First half, ");
  service.relay.cut();
  for (let reloads = 0; reloads < 2; reloads += 1) await (await open(chat.id)).shows("First half, ");
  const last = await open(chat.id);
  await last.shows("First half, ");
  service.model.release();
  await last.until("hold", "First half, second half.");
  await expect.poll(() => chat.turns()).toEqual(["completed"]);
});

test("stop cancels the turn at the service, of a resumed reply too", async () => {
  for (const isResumed of [false, true]) {
    const first = await open();
    first.send("hold");
    await first.shows("First half, ");
    const chat = isResumed ? await open(first.id) : first;
    await chat.shows("First half, ");
    await chat.stop();
    await expect.poll(chat.turns).toEqual(["cancelled"]);
    expect(chat.status).toBe("ready");
    expect((await open(chat.id)).texts).toEqual(["hold", "First half, "]);
    cleanup();
  }
});

test("stop at once cancels the turn that is being started", async () => {
  let arrive = () => {};
  const isOnItsWay = new Promise<void>((resolve) => (arrive = resolve));
  const chat = await open(undefined, async (input, init) => {
    if (init?.method === "POST") await isOnItsWay;
    return fetch(input, init);
  });
  chat.send("hold");
  await expect.poll(() => chat.status).toBe("submitted");
  await chat.stop();
  arrive();
  await expect.poll(() => chat.status).toBe("ready");
  await expect.poll(chat.turns).toEqual(["cancelled"]);
  chat.send("Hello");
  // The cancelled turn may have stored the beginning of a reply between the two messages.
  await expect.poll(() => chat.texts).toEqual(["hold", "Hello", expect.stringMatching(/^You said: (hold\n\n)?Hello$/)]);
});

test("a reply is generated again, and a message is edited", async () => {
  const chat = await open();
  chat.send("one");
  await chat.until("one", "You said: one");
  chat.send("two");
  await chat.until("one", "You said: one", "two", "You said: two");
  const id = chat.messages[3]?.id;
  chat.regenerate();
  await expect.poll(chat.turns).toEqual(["completed", "completed", "completed"]);
  await chat.until("one", "You said: one", "two", "You said: two");
  expect(chat.messages[3]?.id).not.toBe(id);
  chat.send("uno", chat.messages[0]?.id);
  await chat.until("uno", "You said: uno");
  expect((await open(chat.id)).texts).toEqual(["uno", "You said: uno"]);
});

test("a lost network is an error with a sentence for visitors, which the library recognises", async () => {
  let isOffline = false;
  const network: typeof fetch = (input, init) => (isOffline ? Promise.reject(new TypeError("fetch failed")) : fetch(input, init));
  const chat = await open(undefined, network);
  chat.send("one");
  await chat.until("one", "You said: one");
  isOffline = true;
  // A regeneration is not repeated.
  chat.regenerate();
  await expect.poll(() => [chat.status, chat.error]).toEqual(["error", "The service cannot be reached. (network error)"]);
  isOffline = false;
  expect(await chat.turns()).toEqual(["completed"]);
});

test("a failed turn and a rejected message are errors with a text, and never a whole reply", async () => {
  const failed = await open();
  failed.send("fail 3");
  await expect.poll(() => failed.status).toBe("error");
  expect(failed.error).toMatch(/^The reply engine failed\..*\(engine_failed/);
  const rejected = await open();
  rejected.send("x".repeat(40_000));
  await expect.poll(() => rejected.error).toMatch(/\(validation_failed, request/);
});

test("a reply that waits for approval ends, also over cuts and a reload, and the next message continues", async () => {
  const agent = agentId;
  agentId = await service.newAgent({ tools: [{ name: "calculator", approval: "always" }] });
  service.relay.cutAfter(4);
  const chat = await open();
  chat.send("call calculator");
  await chat.until("call calculator", "Let me see. ");
  service.relay.cutAfter(Infinity);
  const reloaded = await open(chat.id);
  await reloaded.until("call calculator", "Let me see. ");
  expect([chat.error, reloaded.error]).toEqual([undefined, undefined]);
  reloaded.send("Hello");
  await reloaded.until("call calculator", "Let me see. ", "Hello", "You said: Hello");
  expect(await reloaded.turns()).toEqual(["completed", "completed"]);
  agentId = agent;
});

test("a reply goes on after a crash of the service", async () => {
  const crashed = await open();
  crashed.send("words 40 10");
  await expect.poll(() => crashed.texts[1]?.length ?? 0).toBeGreaterThan(30);
  await service.restart();
  await crashed.until("words 40 10", words(40));
});

test("a token that has expired is replaced, in the middle of a reply too", async () => {
  const keys = createClient({ url: service.url, apiKey: service.key("keys:admin,chat:write") }).keys;
  const tokens = ["expired", service.key("chat:write"), service.admin];
  let calls = 0;
  const client = createClient({ url: service.url, getToken: () => tokens[calls++] ?? "none" });
  const transport = createChatTransport(client, { agentId, userId: "Zoë" });
  const message = { id: "m1", role: "user" as const, parts: [{ type: "text" as const, text: "hold" }] };
  const request = {
    chatId: "token",
    messages: [message],
    trigger: "submit-message" as const,
    messageId: undefined,
    abortSignal: undefined,
  };
  const chunks = (await transport.sendMessages(request)).getReader();
  let text = "";
  const read = async (end: string) => {
    while (text !== end) {
      const { done, value } = await chunks.read();
      if (done) throw new Error(`ended after ${text}`);
      if (value.type === "text-delta") text += value.delta;
    }
  };
  await read("First half, ");
  expect(calls).toBe(2);
  const used = (await keys.list({ limit: 100 })).data.find(({ scopes }) => scopes.join() === "chat:write");
  await keys.revoke(used!.id);
  await expect.poll(() => calls).toBe(3);
  service.model.release();
  await read("First half, second half.");
  expect((await createClient({ url: service.url, apiKey: service.admin }).conversations.list({ userId: "Zoë" })).data).toHaveLength(1);
});
