// React Native, by its global variables: it has no `crypto`, no `TextDecoder` and no `sessionStorage`, and
// the responses of its `fetch` have no body.

import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import type * as library from "../src/index.js";
import { until } from "./conversations.js";
import { type Service, startService } from "./service.js";

let service: Service;
let agentId: string;
let code: string;

beforeAll(async () => {
  service = await startService();
  agentId = await service.newAgent();
  const entryPoints = [fileURLToPath(new URL("../src/index.ts", import.meta.url))];
  const { outputFiles } = await build({ entryPoints, bundle: true, write: false, format: "iife", globalName: "library" });
  code = outputFiles[0]!.text;
});
afterAll(() => service.stop());

/** Its `fetch` reads a response to the end. */
const bodyless = async (url: string, init: RequestInit) => {
  const { ok, status, headers, ...response } = await fetch(url, init).then(async (response) => ({
    ok: response.ok,
    status: response.status,
    headers: response.headers,
    read: await response.text(),
  }));
  return { ok, status, headers, text: async () => response.read, json: async () => JSON.parse(response.read) };
};

/** Runs the client with the global variables of React Native and `more`. */
const open = (more: object = {}, options: object = {}): library.Client => {
  const navigator = { product: "ReactNative" };
  const native = {
    AbortController,
    AbortSignal,
    Headers,
    TextEncoder,
    URL,
    URLSearchParams,
    WebSocket,
    atob,
    clearTimeout,
    console,
    fetch: bodyless,
    navigator,
    setTimeout,
  };
  const context = createContext({ ...native, ...more });
  runInContext(code, context);
  const { createClient } = runInContext("library", context) as typeof library;
  return createClient({ url: service.url, apiKey: service.admin, ...options });
};
const random = { crypto: { getRandomValues: (numbers: Uint32Array) => crypto.getRandomValues(numbers) } };

test("what React Native lacks is named one by one", async () => {
  const message = { agentId, message: "Hello" };
  const chat = (more: object) => open(more).chat(message).next();
  expect(() => open()).toThrow("crypto.getRandomValues is missing: load a polyfill");
  expect((await open(random).agents.get(agentId)).id).toBe(agentId);
  await expect(chat(random)).rejects.toMatchObject({
    retryable: false,
    detail: "Load a polyfill, or correct the program: this `fetch` has no streams, unlike `expo/fetch`.",
  });
  await expect(chat({ ...random, fetch })).rejects.toMatchObject({
    retryable: false,
    detail: "Load a polyfill, or correct the program: TextDecoder is not defined",
  });
});

test("with polyfills, replies are streamed, and conversations follow the changes of others", async () => {
  const polyfills = { ...random, TextDecoder };
  const texts: string[] = [];
  for await (const part of open(polyfills, { fetch }).chat({ agentId, message: "words 5 20" }))
    if (part.type === "reply.delta") texts.push(part.text);
  expect(texts.length).toBeGreaterThan(1);
  expect(texts.join("")).toBe("word1 word2 word3 word4 word5 ");
  const [own, other] = [open(polyfills, { fetch }), open(polyfills, { fetch })].map((client) =>
    client.conversation({ agentId, key: "native" }),
  ) as [library.Conversation, library.Conversation];
  await own.load();
  await own.send("Hello");
  await other.load();
  await own.send("Again");
  await until(other, ({ messages, status }) => status === "ready" && messages.length === 4);
  expect(other.getSnapshot().messages.map(({ text }) => text)).toEqual(["Hello", "You said: Hello", "Again", "You said: Again"]);
  own.close();
  other.close();
});
