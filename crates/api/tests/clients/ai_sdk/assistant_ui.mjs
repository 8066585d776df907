// assistant-ui in a page: `node assistant_ui.mjs BINARY new|stored`, with `useChatRuntime` or with
// `useAISDKRuntime`.
//
// `useChatRuntime` names each chat itself, and by another name after a reload: only
// `useAISDKRuntime`, with a chat that the page names, goes on then. The Cancel button of the library
// only disconnects, so the page requests the end of the turn itself. Its Edit sends a new message
// that does not name the edited one, so the service keeps both.
import assert from "node:assert/strict";
import { PHOTO } from "../page_cases.mjs";
import { runPage } from "../run_page.mjs";
import { packagesOf, returnToPage } from "./versions.mjs";

const isStored = process.argv[3] === "stored";

const more = ({ open }) => ({
  async "an edited message is sent as a new one"() {
    const chat = await open();
    await chat.send("one");
    await chat.showsReply("You said: one");
    await chat.hasTurns("completed");
    await chat.page.click(".edit");
    await chat.page.fill("[name=edited]", "two");
    await chat.page.click(".replace");
    await chat.showsReply("You said: two");
    await chat.hasTurns("completed", "completed");
    assert.deepEqual([(await chat.texts("message")).length, (await chat.texts("reply")).length], [1, 1]);
    assert.equal((await chat.stored()).messages.length, 4);
  },
});

await runPage({
  name: `assistant-ui-${isStored ? "stored" : "new"}`,
  source: { folder: import.meta.dirname, file: "assistant_ui.jsx", alias: packagesOf("7") },
  settings: () => (isStored ? { stored: "" } : {}),
  resume: returnToPage,
  without: isStored ? [] : ["a reply goes on after a reload in its middle", PHOTO],
  more,
});
