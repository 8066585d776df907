// A page with TanStack AI, as a team would write it.
import { fetchServerSentEvents, useChat } from "@tanstack/ai-react";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import "../pages.css";

const settings = new URLSearchParams(location.search);
const base = `${settings.get("service")}/ag-ui/agents/${settings.get("agent")}`;
const headers = { authorization: `Bearer ${settings.get("key")}` };
const threadId = settings.get("chat");
const connection = fetchServerSentEvents(`${base}/run`, { headers });

// The address of an image, which the page has sent or the service links.
const urlOf = ({ type, value, mimeType }) => (type === "data" ? `data:${mimeType};base64,${value}` : value);

const imageOf = async (file) => {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const value = btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
  return { type: "image", source: { type: "data", mimeType: file.type, value } };
};

const Part = ({ part }) => {
  // Text after tools begins with a blank line.
  if (part.type === "text") return <p>{part.content.trim()}</p>;
  if (part.type === "image") return <img src={urlOf(part.source)} alt="" />;
  if (part.type !== "tool-call") return null;
  return (
    <pre>
      {part.name}({part.arguments}): {JSON.stringify(part.output)}
    </pre>
  );
};

const Chat = () => {
  const chat = useChat({ connection, threadId, persistence: true });
  const [text, setText] = useState("");
  const send = async (event) => {
    event.preventDefault();
    const form = event.target;
    const images = await Promise.all([...form.files.files].map(imageOf));
    form.reset();
    setText("");
    chat.sendMessage(images.length === 0 ? text : { content: [{ type: "text", content: text }, ...images] });
  };
  const stop = () => {
    chat.stop();
    fetch(`${base}/stop`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ threadId }),
    });
  };
  return (
    <main>
      <h1>TanStack AI</h1>
      {chat.messages.map((message) => (
        <article key={message.id} className={message.role}>
          {message.parts.map((part, index) => (
            <Part key={index} part={part} />
          ))}
        </article>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form onSubmit={send}>
        <input name="message" value={text} onChange={(event) => setText(event.target.value)} placeholder="Message" />
        <input type="file" name="files" className="attach" aria-label="Files" multiple />
        <button className="send">Send</button>
        <button type="button" className="stop" onClick={stop}>Stop</button>
        <button type="button" className="regenerate" onClick={() => chat.reload()}>Regenerate</button>
        <output>{chat.status}</output>
      </form>
    </main>
  );
};

createRoot(document.getElementById("root")).render(<Chat />);
