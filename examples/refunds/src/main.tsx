import { createClient, randomId } from "agent-service-client";
import { useChat } from "agent-service-client/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const getToken = async (): Promise<string> => {
  const response = await fetch("/token", { method: "POST" });
  if (!response.ok) throw new Error("The backend cannot be reached.");
  return (await response.json()).token;
};
const service = createClient({ url: SERVICE, getToken });
// The address of the page ends with the key of the conversation, so a reload keeps it.
location.hash ||= randomId();
const chat = service.conversation({ agentId: AGENT, key: location.hash.slice(1) });
const CART = ["a kettle", "two cups"];

const Page = () => {
  const [isOpen, setOpen] = useState(false);
  const openCart = () => {
    setOpen(true);
    return CART.join(", ");
  };
  const { messages, error, send, approve, deny } = useChat(chat, { tools: { open_cart: openCart } });
  return (
    <main>
      {messages.map(({ id, role, text, toolCalls }) => (
        <article key={id} className={role}>
          {toolCalls.map((call) => (
            <p key={call.id} className="call">
              {call.name}: {call.status}
              {call.needs === "approval" && call.approver === "user" && (
                <>
                  <code>{JSON.stringify(call.arguments)}</code>
                  <button onClick={() => approve(call.id)}>Approve</button>
                  <button onClick={() => deny(call.id)}>Deny</button>
                </>
              )}
            </p>
          ))}
          {text}
        </article>
      ))}
      {error && <p role="alert">{error.title}</p>}
      <form action={(form) => void send(String(form.get("text")))}>
        <input name="text" aria-label="Message" placeholder="refund order A-77" autoComplete="off" required />
        <button>Send</button>
      </form>
      <aside hidden={!isOpen} aria-label="Cart">
        {CART.map((item) => (
          <p key={item}>{item}</p>
        ))}
        <button onClick={() => setOpen(false)}>Close</button>
      </aside>
    </main>
  );
};
createRoot(document.getElementById("root")!).render(<Page />);
