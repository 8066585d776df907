// Conversations of one agent, as pages open them.
import { afterAll, beforeAll } from "vitest";
import { type Conversation, type ConversationState, createClient, type KeyValueStorage } from "../src/index.js";
import { memoryStorage } from "./memory-storage.js";
import { type Service, startService } from "./service.js";

export let service: Service;
export let agentId: string;
let number = 0;

/** Starts the service before the tests of a file, with further settings, and stops it afterwards. */
export const useService = (settings: Record<string, string> = {}): void => {
  beforeAll(async () => {
    service = await startService(settings);
    agentId = await service.newAgent();
  });
  afterAll(() => service.stop());
};

export const newKey = (): string => `c${number++}`;

/** Opens the page of a conversation; again for a reload. */
export const open = (key: string, kept: KeyValueStorage = memoryStorage(), url = service.url): Conversation =>
  createClient({ url, apiKey: service.admin }).conversation({ agentId, key, storage: kept });

export const texts = ({ messages }: ConversationState): string[] => messages.map(({ text }) => text);
export const statuses = ({ messages }: ConversationState): string[] => messages.map(({ status }) => status);

/** The client's calls are lost while `isOffline`. */
export const unreliable = () => {
  const network = {
    isOffline: false,
    fetch: (async (input, init) => {
      if (network.isOffline) throw new TypeError("offline");
      return fetch(input, init);
    }) as typeof fetch,
  };
  return network;
};

/** Waits until the state of a conversation fulfils a condition. */
export const until = (chat: Conversation, isMet: (state: ConversationState) => boolean): Promise<void> =>
  new Promise((resolve) => {
    const check = () => {
      if (!isMet(chat.getSnapshot())) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = chat.subscribe(check);
    check();
  });
