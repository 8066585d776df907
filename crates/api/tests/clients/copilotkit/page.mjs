// CopilotKit in a page, with its runtime on the server of the page: `node page.mjs BINARY`.
//
// Its page talks to its own runtime, and so sends no preflights to the service. It does not reconnect
// after a cut: the reply is there after a reload. Its Regenerate and Edit buttons appear only if the
// page brings the code for them, so neither is a case here.
import assert from "node:assert/strict";
import { runPage } from "../run_page.mjs";
import { elements, forget, handle } from "./runtime.mjs";

const more = ({ open }) => ({
  async "a thread is read from the service, and goes on, after a restart of the runtime"() {
    const chat = await open();
    await chat.send("one");
    await chat.showsReply("You said: one");
    await chat.hasTurns("completed");
    forget();
    await chat.reload();
    await chat.showsReply("You said: one");
    await chat.send("two");
    await chat.showsReply("You said: two");
    await chat.hasTurns("completed", "completed");
    assert.deepEqual([await chat.texts("message"), (await chat.texts("reply")).length], [["one", "two"], 2]);
  },
});

await runPage({
  name: "copilotkit",
  source: { folder: import.meta.dirname, file: "copilotkit.jsx" },
  handle,
  elements,
  resume: (chat) => chat.reload(),
  more,
  without: ["a reply that is regenerated is replaced"],
});
