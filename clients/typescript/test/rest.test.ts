import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ConnectionError, createClient, ProblemError } from "../src/index.js";
import { type Service, startService } from "./service.js";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test("resources are created, read, changed and deleted", async () => {
  const client = createClient({ url: `${service.url}/`, apiKey: service.admin });
  const agent = await client.agents.create({ name: "Ada" });
  expect(await client.agents.get(agent.id)).toEqual(agent);
  const renamed = await client.agents.patch(agent.id, { name: "Eve" }, { headers: { "If-Match": '"v1"' } });
  expect(renamed).toMatchObject({ name: "Eve", version: 2 });
  const page = await client.agents.list({ limit: 1 });
  expect(page.data).toHaveLength(1);
  expect(await client.agents.delete(agent.id)).toBeUndefined();
  await expect(client.agents.get(agent.id)).rejects.toMatchObject({ code: "agent_not_found", status: 404 });
});

test("a creation whose response is lost is made once", async () => {
  const { url, admin } = service;
  let lost = 0;
  const lossy: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method === "POST" && lost < 2) {
      lost += 1;
      throw new TypeError("the connection was lost");
    }
    return response;
  };
  const client = createClient({ url, apiKey: admin, fetch: lossy });
  const made = await client.agents.create({ name: "Once" });
  const { data } = await client.agents.list({ limit: 100 });
  expect(data.filter(({ name }) => name === "Once").map(({ id }) => id)).toEqual([made.id]);
  expect(lost).toBe(2);
});

test("a token is fetched when it is needed, and again once it is rejected", async () => {
  const tokens = ["expired", service.admin];
  let calls = 0;
  const getToken = () => tokens[calls++] ?? "none";
  const client = createClient({ url: service.url, getToken });
  await Promise.all([client.limits.get(), client.engines.list()]);
  await client.limits.get();
  expect(calls).toBe(2);
});

test("a rejected credential is a problem, not a loop", async () => {
  let calls = 0;
  const client = createClient({ url: service.url, getToken: () => `wrong${calls++}` });
  const error = await client.limits.get().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ProblemError);
  expect(error).toMatchObject({ code: "invalid_credentials", status: 401, retryable: false });
  const { title, detail, problem } = error as ProblemError;
  expect({ title, detail }).toEqual({ title: problem.title, detail: problem.detail });
  expect(calls).toBe(2);
});

test("a request can be aborted while it waits for its repetition", async () => {
  const client = createClient({ url: "http://127.0.0.1:9", apiKey: "key", retries: 50 });
  const signal = AbortSignal.timeout(400);
  await expect(client.limits.get(undefined, { signal })).rejects.toMatchObject({ name: "TimeoutError" });
});

test("the page of a network that asks to sign in is a lost connection", async () => {
  const portal: typeof fetch = async () => new Response("<h1>Sign in</h1>", { headers: { "Content-Type": "text/html" } });
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: portal, retries: 1 });
  await expect(client.agents.list()).rejects.toThrow(ConnectionError);
});

test("an outage is told in a runtime with an origin but no location", async () => {
  const url = "http://127.0.0.1:9";
  vi.stubGlobal("origin", "https://worker.example");
  vi.stubGlobal("navigator", { onLine: true });
  try {
    const request = createClient({ url, retries: 0 }).limits.get();
    await expect(request).rejects.toMatchObject({ name: "ConnectionError", detail: `${url} cannot be reached (TypeError: fetch failed)` });
  } finally {
    vi.unstubAllGlobals();
  }
});

test("no id leads to another path", async () => {
  const paths: string[] = [];
  const recorded: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    paths.push(new URL(response.url).pathname);
    return response;
  };
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: recorded });
  for (const id of ["", ".", "..", "../agents", "a/b?c#d"]) {
    await expect(client.agents.get(id)).rejects.toThrow(ProblemError);
    await expect(client.conversations.listMessages(id)).rejects.toThrow(ProblemError);
    await expect(client.follow(id).next()).rejects.toThrow(ProblemError);
    const chat = client.conversation({ id: id || ".." });
    await chat.load();
    expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "conversation_not_found" } });
    chat.close();
  }
  for (const path of paths) expect(path).toMatch(/^\/api\/(agents|conversations)\/[^/]+(\/(messages|stream))?$/);
});
