import { useQueryClient } from "@tanstack/react-query";
import { ProblemError } from "agent-service-client";
import { useEffect } from "react";
import { useScope, useSession, useSessions } from "./session/session.js";

/**
 * Reads what is shown again when the event log reports a change. Signs out once the service rejects
 * the credential.
 */
export const LiveQueries = () => {
  const { service } = useSession();
  const { signOut } = useSessions();
  const queries = useQueryClient();
  const canFollow = useScope("events:read");

  useEffect(
    () =>
      queries.getQueryCache().subscribe(({ query }) => {
        const { error } = query.state;
        if (error instanceof ProblemError && error.status === 401) signOut("The service no longer accepts your credential. Sign in again.");
      }),
    [queries, signOut],
  );

  useEffect(() => {
    if (!canFollow) return;
    const ended = new AbortController();
    const refresh = (...keys: unknown[]) => void queries.invalidateQueries({ queryKey: keys });
    const follow = async () => {
      const events = service.events({ signal: ended.signal, onReload: () => refresh() });
      for await (const { type, agentId, conversationId } of events) {
        if (type.startsWith("agent.")) {
          refresh("agents");
          refresh("agent", agentId);
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
    return () => ended.abort();
  }, [service, queries, canFollow]);

  return null;
};
