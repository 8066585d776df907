// The runtime of CopilotKit on the server of a page, and the elements of its chat.
import { HttpAgent } from "@ag-ui/client";

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

// Responds to the requests of a page.
export const handle = (service, request, response) => {
  const [, , agent] = request.url.split("/");
  if (!runtimes.has(agent)) runtimes.set(agent, newRuntime(service, agent));
  return runtimes.get(agent)(request, response);
};

export const elements = {
  message: "[data-testid=copilot-user-message]",
  reply: "[data-testid=copilot-assistant-message]",
  input: "[data-testid=copilot-chat-textarea]",
  send: "[data-testid=copilot-send-button]",
  stop: "[data-testid=copilot-send-button]",
};
