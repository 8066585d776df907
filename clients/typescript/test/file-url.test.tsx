// @vitest-environment jsdom
// The addresses of files, as pages show them.
import { cleanup, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Client, createClient, type MessageFile } from "../src/index.js";
import { useFileUrl } from "../src/react.js";

const HOUR = 60 * 60_000;

/** A client whose service answers each request for an address with a new one; the first `failures` of them fail. */
const newClient = (failures = 0): Client => {
  let calls = 0;
  const answer: typeof fetch = async (input) => {
    calls += 1;
    const path = new URL(String(input)).pathname;
    const problem = { code: "file_not_found", status: 404, title: "", detail: "", type: "", retryable: false };
    if (calls <= failures) {
      return new Response(JSON.stringify(problem), { status: 404, headers: { "Content-Type": "application/problem+json" } });
    }
    return Response.json({ url: `https://agents.example.org${path}?${calls}`, expiresAt: "2026-05-04T11:00:00.000Z" }, { status: 201 });
  };
  return createClient({ url: "https://agents.example.org", apiKey: "key", fetch: answer });
};
const urlOf = (call: number) => `https://agents.example.org/api/files/a/link?${call}`;

beforeEach(() => {
  vi.useFakeTimers();
  let created = 0;
  URL.createObjectURL = vi.fn(() => `blob:${(created += 1)}`);
  URL.revokeObjectURL = vi.fn();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const render = (client: Client, file: Pick<MessageFile, "id" | "file">) =>
  renderHook((shown: Pick<MessageFile, "id" | "file">) => useFileUrl(client, shown), { initialProps: file });

test("a file has the address of its content, then one of the service, which is replaced before it expires", async () => {
  const content = new Blob(["a"]);
  const { result, rerender, unmount } = render(newClient(), { file: content });
  expect(result.current).toBe("blob:1");
  // The upload has ended.
  rerender({ id: "a", file: content });
  expect(result.current).toMatch(/^blob:/);
  rerender({ id: "a" });
  await vi.waitFor(() => expect(result.current).toBe(urlOf(1)));
  expect(URL.revokeObjectURL).toHaveBeenCalledTimes(2);
  for (let renewals = 1; renewals < 4; renewals += 1) {
    await vi.advanceTimersByTimeAsync(HOUR - 8 * 60_000);
    await vi.waitFor(() => expect(result.current).toBe(urlOf(renewals + 1)));
  }
  unmount();
  expect(vi.getTimerCount()).toBe(0);
});

test("two views of a file share its address", async () => {
  const client = newClient();
  const views = [render(client, { id: "a" }), render(client, { id: "a" })];
  for (const { result } of views) await vi.waitFor(() => expect(result.current).toBe(urlOf(1)));
});

test("a file without an address is reported, and has one when it is shown again", async () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  const client = newClient(1);
  const { result, unmount } = render(client, { id: "a" });
  await vi.waitFor(() => expect(warned).toHaveBeenCalledTimes(1));
  expect(result.current).toBeUndefined();
  unmount();
  const again = render(client, { id: "a" });
  await vi.waitFor(() => expect(again.result.current).toBe(urlOf(2)));
  warned.mockRestore();
});
