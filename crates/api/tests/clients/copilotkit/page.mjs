// CopilotKit in a page, with its runtime on the server of the page: `node page.mjs BINARY`.
//
// Its page talks to its own runtime, and so sends no preflights to the service. It does not reconnect
// after a cut: the reply is there after a reload. Its Regenerate and Edit buttons appear only if the
// page brings the code for them, so neither is a case here.
import { HttpAgent } from "@ag-ui/client";
import { runPage } from "../run_page.mjs";

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
const { CopilotRuntime, InMemoryAgentRunner } = await import("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await import("@copilotkit/runtime/v2/node");

// The runtime of an agent. Its Stop button cancels the turn, as docs/protocols/ag-ui.md describes.
const newRuntime = ({ url, headers, call }, agent) => {
  const base = `/ag-ui/agents/${agent}`;
  class ServiceAgent extends HttpAgent {
    abortRun() {
      call("POST", `${base}/stop`, { threadId: this.threadId });
    }
  }
  const runtime = new CopilotRuntime({
    agents: { default: new ServiceAgent({ url: `${url}${base}/run`, headers }) },
    runner: new InMemoryAgentRunner(),
  });
  return createCopilotNodeListener({ runtime, basePath: `/api/${agent}` });
};
const runtimes = new Map();

await runPage({
  name: "copilotkit",
  source: { folder: import.meta.dirname, file: "copilotkit.jsx" },
  handle(service, request, response) {
    const [, , agent] = request.url.split("/");
    if (!runtimes.has(agent)) runtimes.set(agent, newRuntime(service, agent));
    return runtimes.get(agent)(request, response);
  },
  elements: {
    message: "[data-testid=copilot-user-message]",
    reply: "[data-testid=copilot-assistant-message]",
    input: "[data-testid=copilot-chat-textarea]",
    send: "[data-testid=copilot-send-button]",
    stop: "[data-testid=copilot-send-button]",
  },
  resume: (chat) => chat.reload(),
  without: ["a reply that is regenerated is replaced"],
});
