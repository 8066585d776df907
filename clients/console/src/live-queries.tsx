import { type InfiniteData, type Query, type QueryClient, type QueryFunction, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useSession } from "./session/session.js";

/** The time in milliseconds in which events are collected, so that a burst of them is one refresh. */
const COLLECTED = 400;
/** The shortest time in milliseconds between two refreshes, which leaves most of the rate limit to other work. */
const INTERVAL = 2_000;
/** The number of pages up to which a list is read again as a whole. */
const PAGES = 3;

interface Page {
  data: { id: string }[];
}

const isLong = ({ state }: Query): boolean => ((state.data as Partial<InfiniteData<Page>> | undefined)?.pages?.length ?? 0) > PAGES;

/** Returns a list with its newest page, whose items were at other places or are new; `undefined` if items between them are missing. */
const withNewest = ({ pages, pageParams }: InfiniteData<Page>, { data }: Page): InfiniteData<Page> | undefined => {
  const ids = new Set(data.map(({ id }) => id));
  const others = pages.map((page) => ({ ...page, data: page.data.filter(({ id }) => !ids.has(id)) }));
  if (others.every((page, index) => page.data.length === pages[index]?.data.length)) return undefined;
  return { pageParams, pages: others.map((page, index) => (index === 0 ? { ...page, data: [...data, ...page.data] } : page)) };
};

/** Reads what is shown of a resource again; of long lists the newest page. */
const refreshQueries = (queries: QueryClient, queryKey: string[]): void => {
  void queries.invalidateQueries({ queryKey, predicate: (query) => !isLong(query) });
  for (const query of queries.getQueryCache().findAll({ queryKey, type: "active", predicate: isLong })) {
    const read = query.options.queryFn as QueryFunction<Page, readonly unknown[], undefined>;
    void queries
      .fetchQuery({
        queryKey: ["newest", ...query.queryKey],
        staleTime: 0,
        gcTime: 0,
        queryFn: (context) => read({ ...context, pageParam: undefined, direction: "forward" }),
      })
      .then((newest) => {
        const merged = withNewest(query.state.data as InfiniteData<Page>, newest);
        if (merged === undefined) return queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
        queries.setQueryData(query.queryKey, merged);
      })
      // The next event tries again.
      .catch(() => {});
  }
};

/** Reads what is shown again when the event log reports a change, or when the credential is another. */
export const LiveQueries = () => {
  const { service, position } = useSession();
  const queries = useQueryClient();

  const before = useRef(service);
  useEffect(() => {
    if (before.current !== service) void queries.invalidateQueries();
    before.current = service;
  }, [service, queries]);

  useEffect(() => {
    if (position === undefined) return;
    const ended = new AbortController();
    const changed = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = -INTERVAL;
    const flush = () => {
      timer = undefined;
      // Under steady change a long list would otherwise never be read to its end.
      if (queries.isFetching() > 0) return wait();
      for (const key of changed) refreshQueries(queries, JSON.parse(key) as string[]);
      changed.clear();
      last = performance.now();
    };
    const wait = () => {
      timer ??= setTimeout(flush, Math.max(COLLECTED, last + INTERVAL - performance.now()));
    };
    const refresh = (...keys: string[]) => {
      changed.add(JSON.stringify(keys));
      wait();
    };
    const follow = async () => {
      const events = service.events({ since: position, signal: ended.signal, onReload: () => refresh() });
      for await (const { type, agentId, conversationId } of events) {
        if (type.startsWith("agent.")) {
          refresh("agents");
          if (agentId !== undefined) refresh("agent", agentId);
        }
        if (conversationId === undefined) continue;
        // The results of a search stay where they are.
        if (type === "conversation.deleted") refresh("search");
        if (type === "message.rated" || type === "conversation.deleted") refresh("feedback");
        refresh("approvals");
        refresh("conversations");
        refresh("conversation", conversationId);
      }
    };
    follow().catch((error: unknown) => {
      // Pages are still read again when they are opened.
      if (!ended.signal.aborted) console.warn("the event log cannot be followed", error);
    });
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [service, queries, position]);

  return null;
};
