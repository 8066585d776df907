import { useQuery } from "@tanstack/react-query";
import type { LogEvent } from "agent-service-client";
import { useMemo } from "react";
import { kindsOf } from "../credentials/kinds.js";
import { useScope, useSession } from "../session/session.js";

/** The maximum number of agents or credentials of a page. */
const LIMIT = 100;
/** The time in milliseconds for which names of credentials are kept. */
const KEPT = 60_000;

/** The names of agents and actors by their ids, as far as the credential may read them. */
export interface Names {
  agents: ReadonlyMap<string, string>;
  actors: ReadonlyMap<string, string>;
}

interface Named {
  id: string;
  name: string;
}

const mapOf = (prefix: string, named: readonly Named[] = []): Map<string, string> =>
  new Map(named.map(({ id, name }) => [prefix + id, name]));

/** Reads the names in events. */
export const useNames = (events: readonly LogEvent[]): Names => {
  const { service, principal } = useSession();
  const { keys, clients } = kindsOf(service);
  const canReadAgents = useScope("agents:read");
  const canReadKeys = useScope("keys:admin");
  const ids = [...new Set(events.flatMap(({ agentId }) => agentId ?? []))].sort().slice(0, LIMIT).join();
  const agents = useQuery({
    queryKey: ["agents", "names", ids],
    enabled: canReadAgents && ids !== "",
    placeholderData: (previous) => previous,
    queryFn: () => service.agents.list({ ids, limit: LIMIT }),
  });
  const credentials = useQuery({
    queryKey: ["credential-names"],
    enabled: canReadKeys,
    staleTime: KEPT,
    queryFn: () => Promise.all([keys.list({ limit: LIMIT }), clients.list({ limit: LIMIT })]),
  });
  return useMemo(() => {
    const [ofKeys, ofClients] = credentials.data ?? [];
    const actors = new Map([...mapOf("key:", ofKeys?.data), ...mapOf("client:", ofClients?.data), [principal.id, "you"]]);
    return { agents: mapOf("", agents.data?.data), actors };
  }, [agents.data, credentials.data, principal.id]);
};
