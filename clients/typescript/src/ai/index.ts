/** A transport for `useChat` of the AI SDK, versions 6 and 7. */
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import type { Client } from "../index.js";
import { Rejection, repeat } from "../repeat.js";
import { openReply } from "./reply.js";

export interface ChatTransportOptions {
  agentId: string;
  /** The user, for callers that act for several users. */
  userId?: string | undefined;
}

/** A transport for chats with one agent. The id of a chat is the key of its conversation. */
export interface AgentChatTransport<Message extends UIMessage> extends ChatTransport<Message> {
  /** Returns the newest messages of a chat; none if it does not exist yet. */
  load(chatId: string): Promise<Message[]>;
  /** Cancels the open turns of a chat. The `stop` of the chat calls it. */
  stop(chatId: string): Promise<void>;
}

/** The service, or a proxy before it, cannot answer now. */
const isUnavailable = (status: number): boolean => status >= 502 && status <= 504;

/** Returns a transport for chats with an agent. */
export const createChatTransport = <Message extends UIMessage = UIMessage>(
  client: Pick<Client, "fetch">,
  { agentId, userId }: ChatTransportOptions,
): AgentChatTransport<Message> => {
  const call = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    // `fetch` sends Latin-1, and the service reads UTF-8.
    if (userId !== undefined) headers.set("X-User-Id", String.fromCharCode(...new TextEncoder().encode(userId)));
    const response = await client.fetch(`/ai-sdk/agents/${encodeURIComponent(agentId)}/chat${path}`, { ...init, headers });
    if (response.ok) return response;
    const text = await response.text();
    throw isUnavailable(response.status) ? new Error(text) : new Rejection(text);
  };
  const pathOf = (chatId: string, action: string) => `/${encodeURIComponent(chatId)}/${action}`;
  const follow = (chatId: string, signal: AbortSignal) => call(pathOf(chatId, "stream"), { signal });
  const stop = async (chatId: string) => void (await repeat(() => call(pathOf(chatId, "stop"), { method: "POST" })));

  return {
    resumeStreamIsReplay: true,
    stop,

    async load(chatId) {
      const response = await repeat(() => call(pathOf(chatId, "messages")));
      return response.json() as Promise<Message[]>;
    },

    async sendMessages({ chatId, messages, trigger, messageId, abortSignal }) {
      const body = JSON.stringify({ id: chatId, messages: messages.slice(-1), trigger, messageId });
      const send = (signal: AbortSignal) => call("", { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
      const reply = openReply({
        send,
        // An edit or a regeneration that arrived twice could take effect twice.
        isRepeatable: trigger === "submit-message" && messageId === undefined,
        follow: (signal) => follow(chatId, signal),
        stop: () => stop(chatId),
        abortSignal,
      });
      // The response to a message always has a body.
      return reply as Promise<ReadableStream<UIMessageChunk>>;
    },

    reconnectToStream: ({ chatId, abortSignal }) =>
      openReply({ follow: (signal) => follow(chatId, signal), stop: () => stop(chatId), abortSignal }),
  };
};
