// TanStack AI in a page: `node tanstack_page.mjs BINARY`.
//
// Its `stop()` only disconnects, so the page requests the end of the turn itself. It cannot edit
// messages: `useChat` only sends new ones, and answers the last one again.
import { runPage } from "../run_page.mjs";

await runPage({
  name: "tanstack-ai",
  source: { folder: import.meta.dirname, file: "tanstack.jsx" },
  // It reconnects by itself.
  resume: () => {},
});
