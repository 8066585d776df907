/** Hooks for React 18 and later. */
import { useEffect, useSyncExternalStore } from "react";
import type { Conversation } from "./conversation.js";
import type { ConversationState } from "./message.js";

/** The state of a conversation with its actions. */
export type Chat = ConversationState & Pick<Conversation, "send" | "stop" | "regenerate" | "edit">;

/**
 * Loads a conversation and returns its state. Create the conversation outside of the component, or
 * with `useMemo`.
 */
export const useChat = (chat: Conversation): Chat => {
  const state = useSyncExternalStore(chat.subscribe, chat.getSnapshot, chat.getSnapshot);
  useEffect(() => {
    void chat.load();
    return chat.close;
  }, [chat]);
  const { send, stop, regenerate, edit } = chat;
  return { ...state, send, stop, regenerate, edit };
};
