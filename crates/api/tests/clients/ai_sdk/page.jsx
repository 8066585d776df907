// A page with `useChat`, as a team would write it. The build replaces `@ai-sdk/react` and `ai` with
// those of one major version.
import { DefaultChatTransport } from "ai";
import { Chat as ChatObject, useChat } from "@ai-sdk/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const settings = new URLSearchParams(location.search);
const api = `${settings.get("service")}/ai-sdk/agents/${settings.get("agent")}/chat`;
const headers = { authorization: `Bearer ${settings.get("key")}` };
const id = settings.get("chat");

const transport = new DefaultChatTransport({
  api,
  headers,
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
    body: { id, messages: messages.slice(-1), trigger, messageId },
  }),
});

// `useChat` of version 6 hides from its chat that resumed streams begin again, unless it is given the
// chat itself: after a cut, it would show the text twice.
const options = (messages) =>
  settings.has("object") ? { chat: new ChatObject({ id, messages, transport }) } : { id, messages, transport };

const Part = ({ part }) => {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type !== "dynamic-tool") return null;
  return (
    <pre className="tool">
      {part.toolName}({JSON.stringify(part.input)}) {part.state}: {JSON.stringify(part.output ?? part.errorText)}
    </pre>
  );
};

const Chat = ({ options }) => {
  const chat = useChat({ ...options, resume: true });
  const [text, setText] = useState("");
  window.chat = chat;
  const stop = async () => {
    await fetch(`${api}/${id}/stop`, { method: "POST", headers });
    await chat.stop();
  };
  const send = (event) => {
    event.preventDefault();
    chat.sendMessage({ text });
    setText("");
  };
  return (
    <main>
      <h1>Ada</h1>
      {chat.messages.map((message) => (
        <article key={message.id} className={message.role}>
          {message.parts.map((part, index) => (
            <Part key={index} part={part} />
          ))}
          {message.role === "user" && (
            <button className="edit" onClick={() => chat.sendMessage({ text: prompt("Edit"), messageId: message.id })}>
              Edit
            </button>
          )}
        </article>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form onSubmit={send}>
        <input value={text} onChange={(event) => setText(event.target.value)} placeholder="Message" />
        <button className="send">Send</button>
        <button type="button" className="stop" onClick={stop}>Stop</button>
        <button type="button" className="regenerate" onClick={() => chat.regenerate()}>Regenerate</button>
        <output>{chat.status}</output>
      </form>
    </main>
  );
};

const stored = await fetch(`${api}/${id}/messages`, { headers });
createRoot(document.getElementById("root")).render(<Chat options={options(await stored.json())} />);
