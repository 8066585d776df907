"use client";

/** Hooks for React 18 and later. */
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import type { Conversation, PageTools } from "./conversation-types.js";
import type { LogEvent } from "./events.js";
import type { Client } from "./index.js";
import type { ConversationState, MessageFile } from "./message.js";
import { RENEWED } from "./renewed.js";
import type { LiveState } from "./state.js";
import { liveAgent } from "./stores/agent.js";
import { liveConversations } from "./stores/conversations.js";
import { liveEvents } from "./stores/events.js";
import type { AgentState, ConversationFilter, ConversationsState, EventFilter, EventsState, LiveConversations } from "./stores/index.js";

export type { AgentState, ConversationFilter, ConversationsState, EventFilter, EventsState };

/** The state of a conversation with its actions. */
export type Chat<Output = unknown> = ConversationState<Output> &
  Pick<Conversation, "loadOlder" | "send" | "stop" | "regenerate" | "edit" | "approve" | "deny" | "rate" | "setTyping">;

/** Returns the current state. A state that is created in render loads again and again, since each of its changes renders. */
const useLive = <State>(live: LiveState<State>): State => {
  const seen = useRef({ live, changes: 0 }).current;
  useEffect(() => {
    seen.changes = seen.live === live ? 0 : seen.changes + 1;
    seen.live = live;
    if (seen.changes === 3) console.error("Create clients and conversations outside of components, or with `useMemo`.");
  });
  return useSyncExternalStore(live.subscribe, live.getSnapshot, live.getSnapshot);
};

/**
 * Loads a conversation and returns its state. Create the conversation outside of the component, or
 * with `useMemo`. `tools` are the functions that the agent can call on this page.
 */
export const useChat = <Output>(chat: Conversation<Output>, { tools }: { tools?: PageTools | undefined } = {}): Chat<Output> => {
  const state = useLive(chat);
  // Components create the functions each time.
  useEffect(() => tools && chat.setTools(tools), [chat, tools]);
  useEffect(() => {
    void chat.load();
    return chat.close;
  }, [chat]);
  return { ...state, ...chat };
};

/** Returns the conversations of the user, those with the newest messages first, and follows their changes; of a search only deletions. */
export const useConversations = (
  client: Client,
  filter: ConversationFilter = {},
): ConversationsState & Pick<LiveConversations, "loadMore"> => {
  // By content, since components create the filter each time.
  const key = JSON.stringify(filter);
  const list = useMemo(() => liveConversations(client, JSON.parse(key) as ConversationFilter), [client, key]);
  return { ...useLive(list), loadMore: list.loadMore };
};

/** Returns an agent, and follows its changes. */
export const useAgent = (client: Client, id: string): AgentState => useLive(useMemo(() => liveAgent(client, id), [client, id]));

export interface EventsHookOptions extends EventFilter {
  /** The number of events that are kept; 50 by default. */
  limit?: number | undefined;
  /** Called for each event. */
  onEvent?: ((event: LogEvent) => void) | undefined;
}

/** Returns the newest events since the component was mounted, the newest first. */
export const useEvents = (client: Client, { limit, onEvent, ...filter }: EventsHookOptions = {}): EventsState => {
  const listener = useRef(onEvent);
  useEffect(() => void (listener.current = onEvent));
  const key = JSON.stringify(filter);
  const events = useMemo(
    () => liveEvents(client, JSON.parse(key) as EventFilter, limit, (event) => listener.current?.(event)),
    [client, key, limit],
  );
  return useLive(events);
};

/**
 * Returns an address of a file of a message, for `<img>` and links: of its content on this page until the message is read
 * again, then one of the service, which needs no token. It is replaced before it expires.
 */
export const useFileUrl = (client: Client, { id, file }: Pick<MessageFile, "id" | "file">): string | undefined => {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (file) {
      const own = URL.createObjectURL(file);
      setUrl(own);
      return () => URL.revokeObjectURL(own);
    }
    let isCurrent = true;
    const renew = () =>
      id &&
      client.files.link(id).then(
        (link) => isCurrent && setUrl(link.url),
        (error: unknown) => console.warn("A file cannot be shown", error),
      );
    void renew();
    const timer = setInterval(renew, RENEWED);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [client, id, file]);
  return url;
};
