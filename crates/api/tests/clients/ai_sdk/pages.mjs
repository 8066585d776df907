// `useChat` of AI SDK 6 and 7 in a page: `node pages.mjs BINARY 6|7`.
//
// Its `stop()` only disconnects, so the page requests the end of the turn itself. After a cut it
// waits until the page becomes visible again. Version 6 needs a chat that the page has created:
// otherwise it would show the text before the cut twice.
import assert from "node:assert/strict";
import { until } from "../cases.mjs";
import { runPage } from "../run_page.mjs";
import { packagesOf, returnToPage } from "./versions.mjs";

const major = process.argv[3] ?? "7";

const more = ({ open }) => ({
  async "an edited message is replaced"() {
    const chat = await open();
    await chat.send("one");
    await chat.showsReply("You said: one");
    await chat.hasTurns("completed");
    chat.page.once("dialog", (dialog) => dialog.accept("two"));
    await chat.page.click(".edit");
    await chat.showsReply("You said: two");
    await chat.hasTurns("completed", "completed");
    for (const isReloaded of [false, true]) {
      if (isReloaded) await chat.reload();
      await chat.showsReply("You said: two");
      assert.deepEqual([(await chat.texts("message")).length, (await chat.texts("reply")).length], [1, 1]);
    }
  },
  async "a stopped reply is kept"() {
    const chat = await open();
    await chat.send("hold");
    await chat.showsReply("First half,");
    await chat.click("stop");
    await chat.hasTurns("cancelled");
    await chat.reload();
    await chat.showsReply("First half,");
    assert.equal((await chat.texts("reply")).length, 1);
  },
  async "a failure is shown, and answered again"() {
    const chat = await open();
    await chat.send("fail");
    const shown = await chat.page.locator("[role=alert]").innerText();
    assert.match(shown, /^The reply engine failed\. .*\(engine_failed, request .*\)$/);
    await chat.screenshot("failed");
    await chat.click("regenerate");
    await chat.hasTurns("failed", "failed");
    await until(async () => (await chat.page.locator("output").innerText()) === "error", "an error");
  },
});

await runPage({
  name: `ai-sdk-${major}`,
  source: { folder: import.meta.dirname, file: "page.jsx", alias: packagesOf(major) },
  settings: () => (major === "6" ? { object: "" } : {}),
  resume: returnToPage,
  more,
});
