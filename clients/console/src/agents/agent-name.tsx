import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useScope, useSession } from "../session/session.js";

/** Reads an agent, if the credential may. */
export const useAgent = (id: string) => {
  const { service } = useSession();
  return useQuery({ queryKey: ["agent", id], queryFn: () => service.agents.get(id), enabled: useScope("agents:read"), staleTime: 60_000 });
};

/** The name of an agent, with a link to it; its id, if the name cannot be read. */
export const AgentName = ({ id }: { id: string }) => {
  const canRead = useScope("agents:read");
  const agent = useAgent(id);
  if (canRead && agent.isPending) return "…";
  if (agent.data === undefined) return <span className="mono">{id}</span>;
  return (
    <Link href={`/agents/${id}`}>
      <bdi>{agent.data.name}</bdi>
    </Link>
  );
};
