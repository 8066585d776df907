import { afterEach, expect, test, vi } from "vitest";
import { createClient } from "../src/index.js";
import { readEvents } from "../src/sse.js";

afterEach(() => vi.useRealTimers());

test("a connection that is silent is replaced, and one that shows comments is not", async () => {
  vi.useFakeTimers();
  let [streams, closed] = [0, 0];
  const silent: typeof fetch = async () => {
    streams += 1;
    const comments = streams === 1 ? 3 : 0;
    const body = new ReadableStream({
      start(controller) {
        for (let count = 1; count <= comments; count += 1)
          setTimeout(() => controller.enqueue(new TextEncoder().encode(": alive\n\n")), 15_000 * count);
      },
      cancel: () => void (closed += 1),
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  };
  const client = createClient({ url: "http://service", apiKey: "key", fetch: silent, webSocket: null });
  const closing = new AbortController();
  // Its loading takes real time.
  await import("../src/feed.js");
  const next = client
    .events({ signal: closing.signal })
    .next()
    .catch(() => "aborted");
  await vi.advanceTimersByTimeAsync(80_000);
  expect([streams, closed]).toEqual([1, 0]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect([streams, closed]).toEqual([2, 1]);
  closing.abort();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await next).toBe("aborted");
});

test.each([1, 2, 3, 1000])("every line end of the standard is read, and no other, in pieces of %i bytes", async (length) => {
  const data = JSON.stringify("one\u2028two\u2029three\u0085four: \r\n");
  const text = ["\n", "\r\n", "\r"]
    .map((end) => ["event: e", `id: ${end.length}`, `data: ${data}`, ": comment", "", "data:x", "", ""].join(end))
    .join("");
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += length) controller.enqueue(bytes.slice(at, at + length));
      controller.enqueue(new TextEncoder().encode(": end"));
      controller.close();
    },
  });
  const [events, ids]: [object[], string[]] = [[], []];
  for await (const event of readEvents(body, (id) => ids.push(id))) events.push(event);
  const expected = ["1", "2", "1"];
  expect(events).toEqual(
    expected.flatMap((id) => [
      { id, event: "e", data },
      { event: "", data: "x" },
    ]),
  );
  expect(ids).toEqual(expected);
});
