// A page with `useChat`, as a team would write it. The bundle has one version of `@ai-sdk/react` and
// `ai`.
import { Chat as ChatObject, useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import "../pages.css";

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
const optionsOf = (messages) =>
  settings.has("object") ? { chat: new ChatObject({ id, messages, transport }) } : { id, messages, transport };

const Part = ({ part }) => {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "file") return <img src={part.url} alt={part.filename} />;
  if (!part.type.startsWith("tool-")) return null;
  return (
    <pre>
      {part.type.slice("tool-".length)}({JSON.stringify(part.input)}) {part.state}: {JSON.stringify(part.output ?? part.errorText)}
    </pre>
  );
};

const Message = ({ message, edit }) => (
  <article className={message.role}>
    {message.parts.map((part, index) => (
      <Part key={index} part={part} />
    ))}
    {edit && <button className="edit" aria-label="Edit" onClick={edit}>✎</button>}
  </article>
);

const Chat = ({ options }) => {
  const { messages, status, error, sendMessage, regenerate, stop } = useChat({ ...options, resume: true });
  const [text, setText] = useState("");
  const stopTurn = async () => {
    await fetch(`${api}/${id}/stop`, { method: "POST", headers });
    await stop();
  };
  const send = (event) => {
    event.preventDefault();
    sendMessage({ text, files: event.target.files.files });
    event.target.reset();
    setText("");
  };
  const edit = ({ id }) => sendMessage({ text: prompt("Edit"), messageId: id });
  return (
    <main>
      <h1>useChat</h1>
      {messages.map((message) => (
        <Message key={message.id} message={message} edit={message.role === "user" ? () => edit(message) : null} />
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input name="message" value={text} onChange={(event) => setText(event.target.value)} placeholder="Message" />
        <input type="file" name="files" className="attach" aria-label="Files" multiple />
        <button className="send">Send</button>
        <button type="button" className="stop" onClick={stopTurn}>Stop</button>
        <button type="button" className="regenerate" onClick={() => regenerate()}>Regenerate</button>
        <output>{status}</output>
      </form>
    </main>
  );
};

const stored = await fetch(`${api}/${id}/messages`, { headers });
createRoot(document.getElementById("root")).render(<Chat options={optionsOf(await stored.json())} />);
