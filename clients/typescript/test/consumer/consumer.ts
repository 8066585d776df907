// A program that uses the built package under the strictest settings. It is compiled, never run: a
// change of the service's documents that the package does not follow, or that breaks its users,
// is an error here.
import {
  type Client,
  type Command,
  type Conversation,
  type ConversationMessage,
  createClient,
  type LogEvent,
  type Problem,
  type ProblemCode,
  ProblemError,
  type Rest,
  type ServerFrame,
  type TurnPart,
} from "agent-service-client";
import type { Chat } from "agent-service-client/react";
import { nearestRegion } from "agent-service-client/regions";
import { fetchWithProgress, type UploadInit } from "agent-service-client/upload";

const service: Client = createClient({ url: "https://agents.example.org", getToken: async () => "token" });
const [id, text] = ["id", "text"];

/** A call of every operation, which uses a member of its result. A new operation must be added here. */
export const calls: {
  readonly [Group in keyof Rest]: { readonly [Name in keyof Rest[Group]]: () => Promise<string | number | boolean | void> };
} = {
  agents: {
    list: async () => (await service.agents.list({ limit: 20 })).data.length,
    create: async () => (await service.agents.create({ name: text, capabilities: ["calculator"], config: { engine: "llm" } })).id,
    get: async () => (await service.agents.get(id)).version,
    patch: async () => (await service.agents.patch(id, { name: text }, { headers: { "If-Match": '"v1"' } })).name,
    delete: () => service.agents.delete(id),
    getConfig: async () => (await service.agents.getConfig(id)).engine ?? "",
    putConfig: async () => (await service.agents.putConfig(id, { engine: "llm" })).version,
  },
  capabilities: { list: async () => (await service.capabilities.list()).data.length },
  conversations: {
    list: async () => (await service.conversations.list({ agentId: id, key: text })).data.length,
    create: async () => (await service.conversations.create({ agentId: id, title: text })).id,
    get: async () => (await service.conversations.get(id)).messageCount,
    patch: async () => (await service.conversations.patch(id, { title: text })).version,
    delete: () => service.conversations.delete(id),
    listMessages: async () => (await service.conversations.listMessages(id, { order: "desc" })).data.map(({ content }) => content).join(),
    writeMessage: async () => (await service.conversations.writeMessage(id, { content: text, author: { name: text } })).id,
    patchMessage: async () => (await service.conversations.patchMessage(id, id, { content: text })).content,
    deleteMessage: () => service.conversations.deleteMessage(id, id),
    listNotes: async () => (await service.conversations.listNotes(id, { limit: 5 })).data.map(({ content }) => content).join(),
    writeNote: async () => (await service.conversations.writeNote(id, { content: text })).author.name,
    deleteNote: () => service.conversations.deleteNote(id, id),
    rateMessage: async () => (await service.conversations.rateMessage(id, id, { rating: "up", comment: text })).updatedAt,
    deleteFeedback: () => service.conversations.deleteFeedback(id, id),
    listTurns: async () => (await service.conversations.listTurns(id)).data.map(({ status }) => status).join(),
  },
  engines: { list: async () => (await service.engines.list()).data.length },
  events: { list: async () => (await service.events.list({ since: 0, types: "turn.completed" })).nextSince },
  export: { exportConversations: () => service.export.exportConversations() },
  feedback: { list: async () => (await service.feedback.list({ rating: "down" })).data.map(({ comment }) => comment ?? "").join() },
  keys: {
    list: async () => (await service.keys.list({ limit: 5 })).data.length,
    create: async () => (await service.keys.create({ name: text, scopes: ["chat:write"] })).id,
    get: async () => (await service.keys.get(id)).name,
    patch: async () => (await service.keys.patch(id, { limits: null })).name,
    revoke: () => service.keys.revoke(id),
    rotate: async () => (await service.keys.rotate(id)).id,
  },
  limits: { get: async () => (await service.limits.get()).rates.chat.perMinute },
  nodes: { list: async () => (await service.nodes.list()).data.map(({ version }) => version).join() },
  oauthClients: {
    list: async () => (await service.oauthClients.list()).data.length,
    create: async () => (await service.oauthClients.create({ name: text, scopes: ["chat:write"] })).id,
    get: async () => (await service.oauthClients.get(id)).name,
    patch: async () => (await service.oauthClients.patch(id, { name: text })).name,
    revoke: () => service.oauthClients.revoke(id),
    rotate: async () => (await service.oauthClients.rotate(id)).id,
  },
  ping: { get: async () => (await service.ping.get()).region ?? "" },
  principal: { get: async () => (await service.principal.get()).tenantId },
  profiles: {
    list: async () => (await service.profiles.list()).data.length,
    get: async () => (await service.profiles.get(id)).greeting ?? "",
  },
  regions: { list: async () => (await service.regions.list()).data.map(({ url }) => url).join() },
  rules: { test: async () => (await service.rules.test({ rules: [{ keywords: [text], reply: text }], message: text })).reply },
  turns: {
    get: async () => (await service.turns.get(id)).status,
    list: async () => (await service.turns.list({ status: "completed", rating: "down" })).data.length,
    answer: async () => (await service.turns.answer(id, { actions: [{ callId: id, decision: "approve" }] })).status,
    cancel: async () => (await service.turns.cancel(id)).status,
  },
  userTokens: {
    create: async () => (await service.userTokens.create({ userId: id })).token,
    withdraw: () => service.userTokens.withdraw({ userId: id }),
  },
  users: {
    erase: async () => (await service.users.erase({ userId: id })).erasureId,
    export: () => service.users.export({ userId: id }),
  },
  ws: { createTicket: async () => (await service.ws.createTicket({ scopes: ["events:read"] })).ticket },
};

/** Every type of event. */
export const subjectOf = (event: LogEvent): string => {
  switch (event.type) {
    case "agent.created":
    case "agent.updated":
    case "agent.deleted":
      return "agent" in event.data ? event.data.agent.id : "deleted";
    case "conversation.created":
    case "conversation.updated":
    case "conversation.deleted":
      return "conversation" in event.data ? event.data.conversation.id : "deleted";
    case "messages.superseded":
      return "turnId" in event.data ? event.data.turnId : "deleted";
    case "turn.queued":
    case "turn.started":
    case "turn.requires_action":
    case "turn.resumed":
    case "turn.completed":
    case "turn.failed":
    case "turn.cancelled":
      return "turn" in event.data ? event.data.turn.id : "deleted";
    case "message.created":
    case "message.updated":
    case "message.deleted":
    case "message.rated":
      return "message" in event.data ? event.data.message.id : "deleted";
    case "note.created":
    case "note.deleted":
      return "note" in event.data ? event.data.note.id : "deleted";
    case "user.updated":
      return "userId" in event.data ? event.data.userId : "deleted";
    case "user.erased":
      return "erasureId" in event.data ? event.data.erasureId : "deleted";
    default:
      return event satisfies never;
  }
};

/** Every part of a turn. */
export const textOf = (part: TurnPart): string => {
  switch (part.type) {
    case "reasoning.delta":
    case "reply.delta":
      return part.text;
    case "tool.called":
    case "tool.returned":
      return part.name;
    case "turn.completed":
      return part.message;
    case "turn.failed":
      return part.error.code;
    case "turn.requires_action":
      return part.toolCalls.map(({ needs }) => needs).join();
    case "turn.queued":
    case "turn.started":
    case "turn.resumed":
    case "turn.cancelled":
      return part.turnId;
    default:
      return part satisfies never;
  }
};

/** Every frame and every command of a socket. */
export const nameOf = (frame: ServerFrame | Command): string => {
  switch (frame.type) {
    case "connect":
    case "subscribe":
    case "unsubscribe":
    case "chat":
    case "act":
    case "cancel":
    case "typing":
    case "refresh":
    case "ping":
    case "reply":
    case "event":
    case "live":
    case "caughtUp":
    case "resync":
    case "unsubscribed":
    case "goodbye":
      return frame.type;
    default:
      return frame satisfies never;
  }
};

type Equal<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
type FrameProblem = Extract<ServerFrame, { type: "reply"; ok: false }> extends { error: infer Reported } ? Reported : never;
type FrameEvent = Extract<ServerFrame, { type: "event" }>["event"];

/** Both documents have the same events and problem codes. */
export const isEqual: [
  Equal<FrameEvent["type"], LogEvent["type"]>,
  Equal<FrameProblem extends { code: infer Code } ? Code : never, ProblemCode>,
] = [true, true];

/** A program can tell every problem by its code; a code that does not exist is an error. */
export const adviceOn = (error: unknown): string => {
  if (!(error instanceof ProblemError)) return "Check the connection.";
  const { retryable, retryAfter }: Problem = error;
  if (error.code === "rate_limited" && retryable) return `Wait for ${retryAfter ?? 1} seconds.`;
  // @ts-expect-error: no such code
  return error.code === "rate_limitted" ? "" : error.message;
};

/** What a page shows of a message: its time, and why it has failed. */
export const lineOf = ({ role, text, createdAt, author, status, error }: ConversationMessage): string => {
  const reason: string = status === "failed" && error ? `${error.title}${error.retryable ? " Try again." : ""} (${error.code})` : "";
  return [new Date(createdAt).toLocaleTimeString(), author?.name ?? role, text, reason].join(" ");
};

/** Shows all messages of a conversation. */
export const showAll = async ({ getSnapshot, loadOlder }: Conversation): Promise<string[]> => {
  while (getSnapshot().hasOlder) await loadOlder();
  const { messages, error } = getSnapshot();
  // A lost connection has a code, too.
  return error?.code === "offline" ? [error.title] : messages.map(lineOf);
};

/** The hook has the same members. */
export const olderOf = ({ hasOlder, loadOlder }: Chat): (() => Promise<void>) | undefined => (hasOlder ? loadOlder : undefined);

/** A parameter that the service requires is required here. */
// @ts-expect-error: without the user
export const incomplete = () => service.userTokens.withdraw();

/** Streams end with one of three parts. */
export const ends: Record<Extract<TurnPart, { type: "turn.completed" | "turn.failed" | "turn.cancelled" }>["type"], true> = {
  "turn.completed": true,
  "turn.failed": true,
  "turn.cancelled": true,
};

export const url: Promise<string> = nearestRegion({ url: "https://agents.example.org", getToken: async () => "token" });

/** Files that a user has chosen, and those that were uploaded before. */
export const sendFiles = async (chat: Conversation, photo: Blob): Promise<string> => {
  const uploaded = await service.files.upload(photo, { name: "photo.png", onProgress: (part: number) => console.log(part) });
  await chat.send("", { files: [photo, uploaded] });
  for await (const { type } of service.chat({ agentId: id, message: text, files: [uploaded, uploaded.id] })) console.log(type);
  const [file] = chat.getSnapshot().messages[0]?.files ?? [];
  if (file?.id === undefined) return `${file?.name} ${file?.progress ?? file?.error?.title}`;
  await service.files.delete(uploaded.id);
  return (await service.files.link(file.id)).url;
};

/** A client with a `fetch` of its own, whose uploads have progress. */
export const observed: Client = createClient({
  url: "",
  fetch: (input, init?: UploadInit) => (init?.body instanceof Blob ? fetchWithProgress(String(input), init) : fetch(input, init)),
});
