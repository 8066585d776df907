// A page with `useChat` of an agent that acts, as the documentation of the AI SDK has it.
import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import "../pages.css";

const settings = new URLSearchParams(location.search);
const api = `${settings.get("service")}/ai-sdk/agents/${settings.get("agent")}/chat`;
const headers = { authorization: `Bearer ${settings.get("key")}` };
const id = settings.get("chat");
const transport = new DefaultChatTransport({ api, headers });

const openCart = ({ tab }) => {
  window.opened = (window.opened ?? 0) + 1;
  return { opened: tab };
};

const Calculator = ({ part, answer }) => {
  const { state, input, approval, output, errorText } = part;
  switch (state) {
    case "approval-requested":
      return (
        <pre>
          Calculate {input.expression}?{" "}
          <button type="button" className="approve" onClick={() => answer({ id: approval.id, approved: true })}>
            Approve
          </button>
          <button type="button" className="deny" onClick={() => answer({ id: approval.id, approved: false, reason: "too large" })}>
            Deny
          </button>
        </pre>
      );
    case "output-available":
      return (
        <pre>
          {input.expression} = {output}
        </pre>
      );
    case "output-denied":
      return <pre>{input.expression}: denied</pre>;
    default:
      return (
        <pre>
          {state} {errorText}
        </pre>
      );
  }
};

const Part = ({ part, answer }) => {
  switch (part.type) {
    case "text":
      return <p>{part.text}</p>;
    case "tool-calculator":
      return <Calculator part={part} answer={answer} />;
    case "tool-open_cart":
      return (
        <pre>
          open_cart({JSON.stringify(part.input)}) {part.state}: {JSON.stringify(part.output)}
        </pre>
      );
    default:
      return null;
  }
};

const Chat = ({ stored }) => {
  const [text, setText] = useState("");
  const { messages, status, error, sendMessage, addToolOutput, addToolApprovalResponse } = useChat({
    id,
    messages: stored,
    resume: true,
    transport,
    sendAutomaticallyWhen: (chat) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat),
    onToolCall({ toolCall }) {
      if (toolCall.dynamic) return;
      if (toolCall.toolName === "open_cart") {
        addToolOutput({ tool: "open_cart", toolCallId: toolCall.toolCallId, output: openCart(toolCall.input) });
      }
    },
  });
  const send = (event) => {
    event.preventDefault();
    sendMessage({ text });
    setText("");
  };
  return (
    <main>
      <h1>useChat</h1>
      {messages.map((message) => (
        <article key={message.id} className={message.role}>
          {message.parts.map((part, index) => (
            <Part key={index} part={part} answer={addToolApprovalResponse} />
          ))}
        </article>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input name="message" value={text} onChange={(event) => setText(event.target.value)} placeholder="Message" />
        <button className="send">Send</button>
        <output>{status}</output>
      </form>
    </main>
  );
};

const stored = await fetch(`${api}/${id}/messages`, { headers });
createRoot(document.getElementById("root")).render(<Chat stored={await stored.json()} />);
