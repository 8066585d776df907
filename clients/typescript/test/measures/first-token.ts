// The time from a click to the first text of a reply in the page of the example, compared with a
// plain request for the same stream in the same page.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startBrowser } from "../../../../crates/api/tests/clients/browser.mjs";
import { startExample } from "../example.js";

const SENDS = 60;
const MESSAGE = "words 3 1";
/** The longest time that the client may add, in milliseconds. */
const LIMIT = 5;

/** Sends a message by a plain request, and returns the milliseconds to the first piece of its reply. */
const sendPlainly = (page: Page, url: string, body: object): Promise<number> =>
  page.evaluate(
    async ([url, body]) => {
      const { token } = await (await fetch("/token", { method: "POST" })).json();
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() };
      const start = performance.now();
      const response = await fetch(`${url}/api/chat`, { method: "POST", headers, body: JSON.stringify(body) });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      let first: number | undefined;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return first!;
        text += value;
        if (text.includes("event: reply.delta")) first ??= performance.now() - start;
      }
    },
    [url, body] as const,
  );

/** Sends a message by the form of the page, and returns the milliseconds to the first text of its reply. */
const sendInPage = (page: Page, message: string): Promise<number> =>
  page.evaluate(async (message) => {
    const replies = document.querySelector("main")!.getElementsByClassName("agent");
    const before = replies.length;
    const input = document.querySelector<HTMLInputElement>("input[name=text]")!;
    input.value = message;
    const start = performance.now();
    const first = new Promise<number>((resolve) => {
      const observer = new MutationObserver(() => {
        if (replies.length === before || replies[before]!.textContent === "") return;
        observer.disconnect();
        resolve(performance.now() - start);
      });
      observer.observe(document.querySelector("main")!, { childList: true, subtree: true, characterData: true });
    });
    input.form!.requestSubmit();
    return first;
  }, message);

const median = (values: number[]): number => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;

test("the page shows the first text almost as soon as it arrives", async () => {
  // React without its checks, as pages are published.
  const example = await startExample({ NODE_ENV: "production" });
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(example.url);
    const times: { plain: number[]; page: number[] } = { plain: [], page: [] };
    const body = { agentId: example.agentId, conversationKey: "plain", message: MESSAGE, stream: true };
    for (let send = 0; send < SENDS; send += 1) {
      times.plain.push(await sendPlainly(page, example.service.url, body));
      // The list of conversations is read again after each reply.
      await page.waitForTimeout(300);
      times.page.push(await sendInPage(page, MESSAGE));
      await page.getByRole("button", { name: "Send" }).waitFor();
      await page.waitForTimeout(300);
    }
    const [plain, shown] = [median(times.plain), median(times.page)];
    console.log(`first text, median of ${SENDS}: plain request ${plain.toFixed(1)} ms, page ${shown.toFixed(1)} ms`);
    expect(shown - plain).toBeLessThan(LIMIT);
  } finally {
    await browser.close();
    await example.stop();
  }
});
