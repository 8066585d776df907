// A page with assistant-ui of an agent that acts. With `isAiSdk` in its address, its messages are those of the AI SDK.
import {
  type AssistantRuntime,
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
  useRemoteThreadListRuntime,
} from "@assistant-ui/react";
import { useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { createChatTransport } from "../../src/ai/index.js";
import { createThreadListAdapter, useAgentRuntime } from "../../src/assistant-ui/index.js";
import { createClient } from "../../src/index.js";

const settings = new URLSearchParams(location.search);
const [url, key, agentId] = ["service", "key", "agent"].map((name) => settings.get(name) ?? "") as [string, string, string];
const service = createClient({ url, getToken: () => key });

declare global {
  interface Window {
    /** The runs of `open_cart`. */
    opened?: number;
  }
}

const tools = {
  open_cart: async (args: unknown) => {
    window.opened = (window.opened ?? 0) + 1;
    return { opened: (args as { tab: number }).tab };
  },
};

/** The thread in the address of the page. */
const useThread = () => {
  const [threadId, setThreadId] = useState(location.hash.slice(1) || undefined);
  const onThreadIdChange = (id: string | undefined): void => {
    location.hash = id ?? "";
    setThreadId(id);
  };
  return { threadId, onThreadIdChange };
};

const useOwnRuntime = (): AssistantRuntime => useAgentRuntime(service, { agentId, tools, ...useThread() });
const useAiSdkRuntime = (): AssistantRuntime => {
  const adapter = useMemo(() => createThreadListAdapter(service, { agentId }), []);
  const transport = useMemo(() => createChatTransport(service, { agentId }), []);
  const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses;
  return useRemoteThreadListRuntime({ adapter, ...useThread(), runtimeHook: () => useChatRuntime({ transport, sendAutomaticallyWhen }) });
};
const useRuntime = settings.has("isAiSdk") ? useAiSdkRuntime : useOwnRuntime;

const Text = ({ text }: { text: string }) => <p>{text}</p>;
const Tool = ({ toolName, args, result, approval, respondToApproval }: ToolCallMessagePartProps) => (
  <pre>
    {toolName}({JSON.stringify(args)}): {JSON.stringify(result)}
    {approval && approval.approved === undefined && result === undefined && (
      <>
        <button className="approve" onClick={() => void respondToApproval({ approved: true })}>
          Approve
        </button>
        <button className="deny" onClick={() => void respondToApproval({ approved: false, reason: "too large" })}>
          Deny
        </button>
      </>
    )}
  </pre>
);
const Message = ({ kind }: { kind: string }) => (
  <MessagePrimitive.Root asChild>
    <article className={kind}>
      <MessagePrimitive.Parts components={{ Text, tools: { Fallback: Tool } }} />
    </article>
  </MessagePrimitive.Root>
);
const components = { UserMessage: () => <Message kind="user" />, AssistantMessage: () => <Message kind="assistant" /> };

const Page = () => (
  <AssistantRuntimeProvider runtime={useRuntime()}>
    <ThreadPrimitive.Messages components={components} />
    <ComposerPrimitive.Root>
      <ComposerPrimitive.Input name="message" />
      <ComposerPrimitive.Send className="send">Send</ComposerPrimitive.Send>
    </ComposerPrimitive.Root>
  </AssistantRuntimeProvider>
);

createRoot(document.getElementById("root")!).render(<Page />);
