// CopilotKit in a page, with its runtime on the server of the page: `node page.mjs BINARY`.
//
// Its page talks to its own runtime, and so sends no preflights to the service. It does not reconnect
// after a cut: the reply is there after a reload. Its Regenerate and Edit buttons appear only if the
// page brings the code for them, so neither is a case here.
import { runPage } from "../run_page.mjs";
import { elements, handle } from "./runtime.mjs";

await runPage({
  name: "copilotkit",
  source: { folder: import.meta.dirname, file: "copilotkit.jsx" },
  handle,
  elements,
  resume: (chat) => chat.reload(),
  without: ["a reply that is regenerated is replaced"],
});
