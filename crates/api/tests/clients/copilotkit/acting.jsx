// A page with CopilotKit of an agent that acts, as the documentation of CopilotKit has it.
import { CopilotChat, CopilotKit, useFrontendTool, useHumanInTheLoop, useInterrupt, useDefaultRenderTool } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { createRoot } from "react-dom/client";
import { z } from "zod";

const settings = new URLSearchParams(location.search);

const Tools = () => {
  useDefaultRenderTool();
  useFrontendTool({
    name: "open_cart",
    description: "Opens the cart.",
    parameters: z.object({ tab: z.number() }),
    handler: async ({ tab }) => {
      window.opened = (window.opened ?? 0) + 1;
      return { opened: tab };
    },
  });
  useHumanInTheLoop({
    name: "choose_size",
    description: "Asks the user for a size.",
    parameters: z.object({ sizes: z.array(z.string()) }),
    render: ({ args, status, respond, result }) => {
      if (status !== "executing") return <pre>{result ? `Chosen: ${result}` : "Which size?"}</pre>;
      return (
        <pre>
          Which size?{" "}
          {args.sizes.map((size) => (
            <button key={size} type="button" className="choose" onClick={() => respond(size)}>
              {size}
            </button>
          ))}
        </pre>
      );
    },
  });
  useInterrupt({
    render: ({ interrupt, resolve }) => (
      <pre>
        {interrupt.message}{" "}
        <button type="button" className="approve" onClick={() => resolve({ approved: true })}>
          Approve
        </button>
        <button type="button" className="deny" onClick={() => resolve({ approved: false, reason: "too large" })}>
          Deny
        </button>
      </pre>
    ),
  });
  return null;
};

createRoot(document.getElementById("root")).render(
  <CopilotKit runtimeUrl={`/api/${settings.get("agent")}`} useSingleEndpoint={false} enableInspector={false}>
    <Tools />
    <div style={{ height: "100vh" }}>
      <CopilotChat agentId="default" threadId={settings.get("chat")} />
    </div>
  </CopilotKit>,
);
