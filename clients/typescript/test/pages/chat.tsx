// A chat page for measurements: by the hook of this package, or by hand with `fetch` alone.
import { type ReactNode, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "../../src/index.js";
import { useChat } from "../../src/react.js";

export interface ChatSettings {
  url: string;
  token: string;
  agentId: string;
  conversationKey: string;
  isByHand: boolean;
}

interface Shown {
  id: string;
  role: string;
  text: string;
}

const Layout = ({ messages, send }: { messages: readonly Shown[]; send: (text: string) => void }): ReactNode => (
  <main>
    {messages.map(({ id, role, text }) => (
      <p key={id} className={role}>
        {text}
      </p>
    ))}
    <form action={(form: FormData) => send(String(form.get("text")))}>
      <input name="text" />
      <button>Send</button>
    </form>
  </main>
);

const WithHook = ({ settings: { url, token, agentId, conversationKey } }: { settings: ChatSettings }): ReactNode => {
  const chat = useMemo(() => createClient({ url, getToken: () => token }).conversation({ agentId, key: conversationKey }), []);
  const { messages, send } = useChat(chat);
  return <Layout messages={messages} send={send} />;
};

const ByHand = ({ settings: { url, token, agentId, conversationKey } }: { settings: ChatSettings }): ReactNode => {
  const [messages, setMessages] = useState<Shown[]>([]);
  const send = async (text: string): Promise<void> => {
    const [id, replyId] = [crypto.randomUUID(), crypto.randomUUID()];
    setMessages((shown) => [...shown, { id, role: "user", text }]);
    const response = await fetch(`${url}/api/chat`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json", "Idempotency-Key": id },
      body: JSON.stringify({ agentId, conversationKey, message: text, stream: true }),
    });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let [rest, reply] = ["", ""];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop()!;
      for (const part of parts.filter((it) => it.includes("event: reply.delta"))) {
        reply += JSON.parse(/^data: (.*)$/m.exec(part)![1]!).text;
        const shownReply = { id: replyId, role: "agent", text: reply };
        setMessages((shown) => [...shown.filter((it) => it.id !== replyId), shownReply]);
      }
    }
  };
  return <Layout messages={messages} send={(text) => void send(text)} />;
};

declare global {
  interface Window {
    showChat(settings: ChatSettings): void;
  }
}
window.showChat = (settings) =>
  createRoot(document.getElementById("root")!).render(
    settings.isByHand ? <ByHand settings={settings} /> : <WithHook settings={settings} />,
  );
