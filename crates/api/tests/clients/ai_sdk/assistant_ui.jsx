// A page with assistant-ui on its runtime for the AI SDK.
import { AssistantRuntimeProvider, ActionBarPrimitive, ComposerPrimitive, MessagePrimitive, ThreadPrimitive } from "@assistant-ui/react";
import { AssistantChatTransport, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { createRoot } from "react-dom/client";

const settings = new URLSearchParams(location.search);
const api = `${settings.get("service")}/ai-sdk/agents/${settings.get("agent")}/chat`;
const headers = { authorization: `Bearer ${settings.get("key")}` };
let chat;
const transport = new AssistantChatTransport({
  api,
  headers,
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => {
    chat = id;
    return { body: { id, messages: messages.slice(-1), trigger, messageId } };
  },
});
const stop = () => fetch(`${api}/${chat}/stop`, { method: "POST", headers });

const Text = ({ text }) => <p>{text}</p>;
const Tool = ({ toolName, args, result }) => <pre>{toolName}({JSON.stringify(args)}): {JSON.stringify(result)}</pre>;
const Message = () => (
  <MessagePrimitive.Root asChild>
    <article>
      <MessagePrimitive.Parts components={{ Text, tools: { Fallback: Tool } }} />
      <ActionBarPrimitive.Root>
        <ActionBarPrimitive.Reload className="reload">Regenerate</ActionBarPrimitive.Reload>
      </ActionBarPrimitive.Root>
    </article>
  </MessagePrimitive.Root>
);
const App = () => (
  <AssistantRuntimeProvider runtime={useChatRuntime({ transport })}>
    <ThreadPrimitive.Root>
      <h1>assistant-ui</h1>
      <ThreadPrimitive.Messages components={{ Message }} />
      <ComposerPrimitive.Root>
        <ComposerPrimitive.Input />
        <ComposerPrimitive.Send className="send">Send</ComposerPrimitive.Send>
        <button type="button" className="stop" onClick={stop}>Stop</button>
      </ComposerPrimitive.Root>
    </ThreadPrimitive.Root>
  </AssistantRuntimeProvider>
);
createRoot(document.getElementById("root")).render(<App />);
