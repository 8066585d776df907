/** Queries for TanStack Query 5 of any framework, and a connection for TanStack AI. */
import type { Client, LogEvent } from "./index.js";
import { Rejection, repeat, unreachable } from "./repeat.js";
import { eventHubOf } from "./stores/event-hub.js";

type Query<Operation extends (...input: never[]) => unknown> = NonNullable<Parameters<Operation>[0]>;
type Context = { signal: AbortSignal };
type PageContext = Context & { pageParam: string | undefined };

/** The first part of the keys of all queries. */
const ROOT = "agent-service";

/** The options that all queries of pages share. */
const pages = {
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }: { nextCursor?: string | null }) => nextCursor ?? undefined,
};
const at = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });

/** Reads after the position of the log is known, so that no change between the two is missed. */
const read = async <Result>(client: Client, request: () => Promise<Result>): Promise<Result> => {
  await eventHubOf(client).ready();
  return request();
};

/** Returns the options of an infinite query for agents. */
export const agentsQuery = (client: Client, query: Query<Client["agents"]["list"]> = {}) => ({
  ...pages,
  queryKey: [ROOT, "agents", "list", query] as const,
  queryFn: ({ signal, pageParam }: PageContext) => read(client, () => client.agents.list({ ...query, ...at(pageParam) }, { signal })),
});

/** Returns the options of a query for an agent. */
export const agentQuery = (client: Client, id: string) => ({
  queryKey: [ROOT, "agents", id] as const,
  queryFn: ({ signal }: Context) => read(client, () => client.agents.get(id, undefined, { signal })),
});

/** Returns the options of an infinite query for conversations, those with the newest messages first; with `q` by their newest match. */
export const conversationsQuery = (client: Client, query: Query<Client["conversations"]["list"]> = {}) => ({
  ...pages,
  queryKey: [ROOT, "conversations", "list", query] as const,
  queryFn: ({ signal, pageParam }: PageContext) =>
    read(client, () => client.conversations.list({ ...query, ...at(pageParam) }, { signal })),
});

/** Returns the options of a query for a conversation. */
export const conversationQuery = (client: Client, id: string) => ({
  queryKey: [ROOT, "conversations", id] as const,
  queryFn: ({ signal }: Context) => read(client, () => client.conversations.get(id, undefined, { signal })),
});

/** Returns the options of an infinite query for the messages of a conversation, the newest first. */
export const messagesQuery = (client: Client, id: string, limit = 50) => ({
  ...pages,
  queryKey: [ROOT, "conversations", id, "messages", limit] as const,
  queryFn: ({ signal, pageParam }: PageContext) =>
    read(client, () => client.conversations.listMessages(id, { order: "desc", limit, ...at(pageParam) }, { signal })),
});

/** The cache of queries: a `QueryClient`. */
export interface QueryCacheClient {
  isFetching(filters: { queryKey: readonly unknown[] }): number;
  invalidateQueries(filters: { queryKey: readonly unknown[] }): Promise<void>;
}

/** The time for which events are collected, in milliseconds. */
const COLLECTING = 50;

const kindOf = ({ type, agentId, conversationId }: LogEvent): readonly [string, string | undefined] =>
  type.startsWith("agent.") ? ["agents", agentId] : ["conversations", conversationId];

/** Invalidates queries when their data changes. Call it before the first query. Returns a function that ends this. */
export const followQueries = (client: Client, queries: QueryCacheClient): (() => void) => {
  const closing = new AbortController();
  const changed = new Map<string, readonly unknown[]>();
  // biome-ignore lint/correctness/noUnusedVariables: `??=` reads it.
  let timer: ReturnType<typeof setTimeout> | undefined;
  const invalidate = () => {
    timer = undefined;
    for (const [name, queryKey] of changed) {
      // A read in progress may have missed the change, or may read a further page, and must not be cancelled.
      if (queries.isFetching({ queryKey }) > 0) continue;
      changed.delete(name);
      void queries.invalidateQueries({ queryKey });
    }
    if (changed.size > 0) add();
  };
  const add = (...keys: (readonly unknown[])[]) => {
    for (const key of keys) changed.set(key.join(), key);
    if (!closing.signal.aborted) timer ??= setTimeout(invalidate, COLLECTING);
  };
  const onEvent = (event: LogEvent) => {
    const [kind, id] = kindOf(event);
    add([ROOT, kind, "list"], [ROOT, kind, id]);
  };
  // Without permission to follow events, the queries are read once.
  void eventHubOf(client).join({ onEvent, onReload: () => add([ROOT]) }, closing.signal);
  return () => closing.abort();
};

/** An agent for TanStack AI, over AG-UI. */
export interface AgentConnection {
  /** The first argument of `fetchServerSentEvents`. */
  url: string;
  /** The option `fetchClient` of `fetchServerSentEvents`. */
  fetchClient: typeof fetch;
  /** Cancels the open turns of a thread. The `stop` of a chat only disconnects. */
  stop(threadId: string): Promise<void>;
}

/** Returns the connection to an agent: `fetchServerSentEvents(url, { fetchClient })`. */
export const agentConnection = (client: Pick<Client, "fetch">, agentId: string): AgentConnection => {
  const root = `/ag-ui/agents/${encodeURIComponent(agentId)}`;
  return {
    url: `${root}/run`,
    fetchClient: (path, init) =>
      client.fetch(String(path), init).catch((error: unknown) => {
        init?.signal?.throwIfAborted();
        throw unreachable(error);
      }),
    stop: (threadId) =>
      repeat(async () => {
        const headers = { "Content-Type": "application/json" };
        const response = await client.fetch(`${root}/stop`, { method: "POST", headers, body: JSON.stringify({ threadId }) });
        if (!response.ok) throw new Rejection(await response.text());
      }),
  };
};
