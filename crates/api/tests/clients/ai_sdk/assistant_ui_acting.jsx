// A page with assistant-ui of an agent that acts, as the documentation of assistant-ui has it. With
// `offers` in its address, it offers its tool with each message; otherwise the agent has it.
import { useChat } from "@ai-sdk/react";
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  makeAssistantTool,
  makeAssistantToolUI,
  MessagePrimitive,
  ThreadPrimitive,
} from "@assistant-ui/react";
import { AssistantChatTransport, useAISDKRuntime } from "@assistant-ui/react-ai-sdk";
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { createRoot } from "react-dom/client";
import { openCart } from "../open_cart.mjs";
import "../pages.css";

const settings = new URLSearchParams(location.search);
const api = `${settings.get("service")}/ai-sdk/agents/${settings.get("agent")}/chat`;
const headers = { authorization: `Bearer ${settings.get("key")}` };
const id = settings.get("chat");
const prepareSendMessagesRequest = ({ body, messages, trigger, messageId }) => ({
  body: { id, messages: messages.slice(-1), trigger, messageId, tools: body.tools },
});
const transport = new AssistantChatTransport({ api, headers, ...(settings.has("offers") && { prepareSendMessagesRequest }) });

const OpenCart = makeAssistantTool({
  toolName: openCart.name,
  description: openCart.description,
  parameters: openCart.parameters,
  execute: async ({ tab }) => {
    window.opened = (window.opened ?? 0) + 1;
    return { opened: tab };
  },
  render: ({ args, result }) => (
    <pre>
      open_cart({JSON.stringify(args)}): {JSON.stringify(result)}
    </pre>
  ),
});

const Calculator = makeAssistantToolUI({
  toolName: "calculator",
  render: ({ args, result, approval, respondToApproval }) =>
    approval && approval.approved === undefined && result === undefined ? (
      <pre>
        Calculate {args.expression}?{" "}
        <button type="button" className="approve" onClick={() => respondToApproval({ approved: true })}>
          Approve
        </button>
        <button type="button" className="deny" onClick={() => respondToApproval({ approved: false, reason: "too large" })}>
          Deny
        </button>
      </pre>
    ) : (
      <pre>
        {args.expression}: {JSON.stringify(result)}
      </pre>
    ),
});

const Text = ({ text }) => <p>{text}</p>;
const Message = ({ role }) => (
  <MessagePrimitive.Root asChild>
    <article className={role}>
      <MessagePrimitive.Parts components={{ Text }} />
      <MessagePrimitive.Error>
        <p role="alert">The reply is incomplete.</p>
      </MessagePrimitive.Error>
    </article>
  </MessagePrimitive.Root>
);
const components = { UserMessage: () => <Message role="user" />, AssistantMessage: () => <Message role="assistant" /> };

const App = ({ messages }) => {
  const runtime = useAISDKRuntime(
    useChat({
      id,
      messages,
      transport,
      resume: true,
      sendAutomaticallyWhen: (chat) =>
        lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat),
    }),
  );
  // So the transport knows the tools of the page.
  if (settings.has("offers")) transport.setRuntime(runtime);
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <OpenCart />
      <Calculator />
      <ThreadPrimitive.Root>
        <h1>assistant-ui</h1>
        <ThreadPrimitive.Messages components={components} />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input name="message" placeholder="Message" />
          <ComposerPrimitive.Send className="send">Send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
};

// The library runs tools only of calls that it receives, not of those in messages that it is given: the
// stream brings a reply that waits.
const response = await fetch(`${api}/${id}/messages`, { headers });
const messages = (await response.json()).filter(({ metadata }) => metadata.finishReason !== "requires_action");
createRoot(document.getElementById("root")).render(<App messages={messages} />);
