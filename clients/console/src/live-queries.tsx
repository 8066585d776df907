import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useScope, useSession } from "./session/session.js";

/** The time in milliseconds in which events are collected, so that a burst of them is one refresh. */
const COLLECTED = 400;

/** Reads what is shown again when the event log reports a change, or when the credential is another. */
export const LiveQueries = () => {
  const { service } = useSession();
  const queries = useQueryClient();
  const canFollow = useScope("events:read");

  const before = useRef(service);
  useEffect(() => {
    if (before.current !== service) void queries.invalidateQueries();
    before.current = service;
  }, [service, queries]);

  useEffect(() => {
    if (!canFollow) return;
    const ended = new AbortController();
    const changed = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      // Under steady change a long list would otherwise never be read to its end.
      if (queries.isFetching() > 0) return wait();
      for (const key of changed) void queries.invalidateQueries({ queryKey: JSON.parse(key) as string[] });
      changed.clear();
    };
    const wait = () => {
      timer ??= setTimeout(flush, COLLECTED);
    };
    const refresh = (...keys: string[]) => {
      changed.add(JSON.stringify(keys));
      wait();
    };
    const follow = async () => {
      const events = service.events({ signal: ended.signal, onReload: () => refresh() });
      for await (const { type, agentId, conversationId } of events) {
        if (type.startsWith("agent.")) {
          refresh("agents");
          if (agentId !== undefined) refresh("agent", agentId);
        }
        if (conversationId === undefined) continue;
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
  }, [service, queries, canFollow]);

  return null;
};
