// A page with CopilotKit, as a team would write it.
import { CopilotChat, CopilotKit, useDefaultRenderTool } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { createRoot } from "react-dom/client";

const settings = new URLSearchParams(location.search);

const Tools = () => {
  useDefaultRenderTool();
  return null;
};

createRoot(document.getElementById("root")).render(
  <CopilotKit runtimeUrl={`/api/${settings.get("agent")}`} useSingleEndpoint={false} enableInspector={false}>
    <Tools />
    <div style={{ height: "100vh" }}>
      <CopilotChat agentId="default" threadId={settings.get("chat")} attachments={{ enabled: true }} />
    </div>
  </CopilotKit>,
);
