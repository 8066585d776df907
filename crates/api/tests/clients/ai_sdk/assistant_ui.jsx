// A page with assistant-ui on its runtime for the AI SDK. With `stored` in its address, the page
// names the chat and loads its messages; otherwise `useChatRuntime` makes a new chat.
import { useChat } from "@ai-sdk/react";
import {
  ActionBarPrimitive,
  AttachmentPrimitive,
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  useAuiState,
} from "@assistant-ui/react";
import { AssistantChatTransport, useAISDKRuntime, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { createRoot } from "react-dom/client";
import "../pages.css";

const settings = new URLSearchParams(location.search);
const api = `${settings.get("service")}/ai-sdk/agents/${settings.get("agent")}/chat`;
const headers = { authorization: `Bearer ${settings.get("key")}` };
let chatId = settings.get("chat");
const transport = new AssistantChatTransport({
  api,
  headers,
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => {
    chatId = id;
    return { body: { id, messages: messages.slice(-1), trigger, messageId } };
  },
});
const stop = () => fetch(`${api}/${chatId}/stop`, { method: "POST", headers });

const useStoredChat = ({ messages }) => useAISDKRuntime(useChat({ id: chatId, messages, transport, resume: true }));
const useNewChat = () => useChatRuntime({ transport, resume: true });
const useRuntime = settings.has("stored") ? useStoredChat : useNewChat;

const Text = ({ text }) => <p>{text}</p>;
const Tool = ({ toolName, args, result }) => (
  <pre>
    {toolName}({JSON.stringify(args)}): {JSON.stringify(result)}
  </pre>
);
// The address of an image is in its content: that of its thumb is a letter.
const Attachment = () => {
  const image = useAuiState(({ attachment }) => attachment.content?.find(({ type }) => type === "image")?.image);
  return <AttachmentPrimitive.Root>{image ? <img src={image} alt="" /> : <AttachmentPrimitive.Name />}</AttachmentPrimitive.Root>;
};
const parts = { Text, tools: { Fallback: Tool } };
const UserMessage = () => (
  <MessagePrimitive.Root asChild>
    <article className="user">
      <MessagePrimitive.Attachments components={{ Attachment }} />
      <MessagePrimitive.Parts components={parts} />
      <ActionBarPrimitive.Edit className="edit">Edit</ActionBarPrimitive.Edit>
    </article>
  </MessagePrimitive.Root>
);
const EditComposer = () => (
  <ComposerPrimitive.Root>
    <ComposerPrimitive.Input name="edited" />
    <ComposerPrimitive.Send className="replace">Send</ComposerPrimitive.Send>
  </ComposerPrimitive.Root>
);
const AssistantMessage = () => (
  <MessagePrimitive.Root asChild>
    <article className="assistant">
      <MessagePrimitive.Parts components={parts} />
      <MessagePrimitive.Error>
        <p role="alert">The reply is incomplete.</p>
      </MessagePrimitive.Error>
      <ActionBarPrimitive.Reload className="regenerate">Regenerate</ActionBarPrimitive.Reload>
    </article>
  </MessagePrimitive.Root>
);
const Status = () => <output>{useAuiState((state) => (state.thread.isRunning ? "running" : "ready"))}</output>;

const App = ({ messages }) => (
  <AssistantRuntimeProvider runtime={useRuntime({ messages })}>
    <ThreadPrimitive.Root>
      <h1>assistant-ui</h1>
      <ThreadPrimitive.Messages components={{ UserMessage, EditComposer, AssistantMessage }} />
      <ComposerPrimitive.Root>
        <ComposerPrimitive.Attachments components={{ Attachment }} />
        <ComposerPrimitive.Input name="message" placeholder="Message" />
        <ComposerPrimitive.AddAttachment className="attach">+</ComposerPrimitive.AddAttachment>
        <ComposerPrimitive.Send className="send">Send</ComposerPrimitive.Send>
        <button type="button" className="stop" onClick={stop}>Stop</button>
        <Status />
      </ComposerPrimitive.Root>
    </ThreadPrimitive.Root>
  </AssistantRuntimeProvider>
);

const stored = settings.has("stored") ? await (await fetch(`${api}/${chatId}/messages`, { headers })).json() : [];
createRoot(document.getElementById("root")).render(<App messages={stored} />);
