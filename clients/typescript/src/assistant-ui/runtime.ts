// biome-ignore-all lint/correctness/useHookAtTopLevel: `runtimeHook` is called as a hook of a component.
import {
  type AppendMessage,
  type AssistantRuntime,
  useAuiState,
  useExternalStoreRuntime,
  useRemoteThreadListRuntime,
} from "@assistant-ui/react";
import { useCallback, useMemo } from "react";
import type { Client, PageTools } from "../index.js";
import type { ConversationMessage } from "../message.js";
import { useChat } from "../react.js";
import { attachmentAdapter, filesOf, useUrls } from "./attachments.js";
import type { ThreadOptions } from "./conversation.js";
import { idOf, threadMessage } from "./messages.js";
import { createThreadListAdapter } from "./threads.js";

const textOf = ({ content }: AppendMessage): string => content.map((part) => (part.type === "text" ? part.text : "")).join("\n");

/** Shows the failure of a message that has no reply. */
const FAILURE = { id: "failure", role: "agent", text: "", status: "failed", toolCalls: [], files: [] } as const;

/** Returns the runtime of one conversation. */
const useConversationRuntime = (client: Client, { agentId, userId, tools }: AgentRuntimeOptions): AssistantRuntime => {
  const key = useAuiState(({ threadListItem }) => threadListItem.remoteId ?? threadListItem.id);
  const conversation = useMemo(() => client.conversation({ agentId, key, userId }), [client, agentId, key, userId]);
  const { messages, status, error, send, stop, regenerate, edit, approve, deny, rate } = useChat(conversation, { tools });
  const known = (id: string | null) => messages.findIndex((message) => idOf(message) === id);
  const urls = useUrls(client, messages);
  const shown = useMemo(() => {
    const last = messages.at(-1);
    if (!error || !last) return messages;
    const { createdAt } = last;
    return last.role === "user" ? [...messages, { ...FAILURE, createdAt, error }] : messages.with(-1, { ...last, error });
  }, [messages, error]);
  return useExternalStoreRuntime<ConversationMessage>({
    messages: shown,
    convertMessage: useCallback((message: ConversationMessage) => threadMessage(message, urls), [urls]),
    isLoading: status === "loading",
    isRunning: status === "sending" || status === "streaming",
    onNew: (message) => send(textOf(message), { files: filesOf(message) }),
    async onEdit(message) {
      const { id = "", files } = messages[known(message.sourceId)] ?? {};
      await edit(id, textOf(message), { files: filesOf(message, files) });
    },
    // The parent is the message that is answered again.
    onReload: (parentId) => regenerate(messages[known(parentId) + 1]?.id ?? messages[known(parentId)]?.id),
    onCancel: stop,
    adapters: {
      attachments: attachmentAdapter,
      feedback: {
        submit: ({ message, type, comment }) => void rate(message.id, type === "positive" ? "up" : "down", comment).catch(console.warn),
      },
    },
    onRespondToToolApproval: ({ approvalId, approved, reason }) => (approved ? approve(approvalId) : deny(approvalId, reason)),
  });
};

export interface AgentRuntimeOptions extends ThreadOptions {
  /** The thread that is shown, such as that of the address of the page. */
  threadId?: string | undefined;
  /** Called when the user opens another thread. */
  onThreadIdChange?: ((threadId: string | undefined) => void) | undefined;
  /** The functions that the agent can call on this page. */
  tools?: PageTools | undefined;
}

/** Returns a runtime for the conversations with an agent: they are streamed, stopped, edited and resumed, and listed as threads. */
export const useAgentRuntime = (client: Client, options: AgentRuntimeOptions): AssistantRuntime => {
  const { agentId, userId, tools: _, ...controlled } = options;
  const adapter = useMemo(() => createThreadListAdapter(client, { agentId, userId }), [client, agentId, userId]);
  return useRemoteThreadListRuntime({
    ...controlled,
    adapter,
    runtimeHook: () => useConversationRuntime(client, options),
  });
};
