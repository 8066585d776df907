import { CopilotChat, CopilotKit, useDefaultRenderTool } from '@copilotkit/react-core/v2';
import '@copilotkit/react-core/v2/styles.css';
import { createRoot } from 'react-dom/client';

function Tools() {
  useDefaultRenderTool();
  return null;
}

createRoot(document.getElementById('root')).render(
  <CopilotKit runtimeUrl="/api/copilotkit" useSingleEndpoint={false} enableInspector={false}>
    <Tools />
    <div style={{ height: '100vh' }}>
      <CopilotChat agentId="default" threadId="copilotkit" />
    </div>
  </CopilotKit>,
);
