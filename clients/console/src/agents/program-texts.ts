// Programs that chat with an agent, complete but for the token.

interface Target {
  url: string;
  agentId: string;
  token: string;
}

export const curlProgram = ({ url, agentId, token }: Target): string => `TOKEN='${token}'
curl -sS '${url}/api/chat' \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"agentId": "${agentId}", "message": "Hello"}'
`;

export const javaScriptProgram = ({ url, agentId, token }: Target): string => `import { createClient } from "agent-service-client";

const getToken = () => "${token}";
const service = createClient({ url: "${url}", getToken });
for await (const part of service.chat({ agentId: "${agentId}", message: "Hello" })) {
  if (part.type === "reply.delta") console.log(part.text);
}
`;

export const reactProgram = ({ url, agentId, token }: Target): string => `import { createClient } from "agent-service-client";
import { useChat } from "agent-service-client/react";

const getToken = () => "${token}";
const service = createClient({ url: "${url}", getToken });
const chat = service.conversation({ agentId: "${agentId}", key: "first" });

export const Chat = () => {
  const { messages, status, error, send } = useChat(chat);
  return (
    <form action={(form) => void send(form.get("text"))}>
      {messages.map((message) => <p key={message.id}>{message.role}: {message.text}</p>)}
      {error && <p role="alert">{error.title}</p>}
      <input name="text" aria-label="Message" required />
      <button disabled={status === "sending" || status === "streaming"}>Send</button>
    </form>
  );
};
`;
