// The runtime of CopilotKit on the server of a page, and the elements of its chat.
import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
const { CopilotRuntime, InMemoryAgentRunner } = await import("@copilotkit/runtime/v2");
const { createCopilotNodeListener } = await import("@copilotkit/runtime/v2/node");

// The runtime of an agent. Its Stop button cancels the turn, as docs/protocols/ag-ui.md describes.
const newRuntime = ({ url, headers, call }, agent) => {
  const base = `/ag-ui/agents/${agent}`;
  class ServiceAgent extends HttpAgent {
    connect({ threadId }) {
      const given = { headers: { ...this.headers, accept: "text/event-stream" } };
      return transformHttpEventStream(runHttpRequest(() => fetch(`${this.url}?threadId=${encodeURIComponent(threadId)}`, given)));
    }

    abortRun() {
      call("POST", `${base}/stop`, { threadId: this.threadId });
    }
  }
  const agentOf = () => new ServiceAgent({ url: `${url}${base}/run`, headers });
  // Pages that load read their thread from the service.
  class ServiceRunner extends InMemoryAgentRunner {
    connect(request) {
      return agentOf().connect(request);
    }
  }
  const runtime = new CopilotRuntime({ agents: { default: agentOf() }, runner: new ServiceRunner() });
  return createCopilotNodeListener({ runtime, basePath: `/api/${agent}` });
};
const runtimes = new Map();

// Responds to the requests of a page.
export const handle = (service, request, response) => {
  const [, , agent] = request.url.split("/");
  if (!runtimes.has(agent)) runtimes.set(agent, newRuntime(service, agent));
  return runtimes.get(agent)(request, response);
};

// Forgets all runs, as a restart does.
export const forget = () => {
  new InMemoryAgentRunner().clearThreads();
  runtimes.clear();
};

export const elements = {
  message: "[data-testid=copilot-user-message]",
  photo: "[data-testid=copilot-user-message] img",
  attach: ["[data-testid=copilot-add-menu-button]", "text=Add attachments"],
  reply: "[data-testid=copilot-assistant-message]",
  input: "[data-testid=copilot-chat-textarea]",
  send: "[data-testid=copilot-send-button]",
  stop: "[data-testid=copilot-send-button]",
};
