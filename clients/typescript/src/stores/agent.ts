import { lost, type ServiceError } from "../errors.js";
import type { components } from "../generated/schema.js";
import type { Client } from "../index.js";
import { createState, type LiveState } from "../state.js";
import { eventHubOf } from "./event-hub.js";
import { live } from "./live.js";
import { recover } from "./recover.js";

export type Agent = components["schemas"]["Agent"];

/** An agent, as a page shows it. */
export interface AgentState {
  agent?: Agent | undefined;
  status: "loading" | "ready" | "failed";
  /** The reason for `failed`, such as `agent_not_found`. */
  error?: ServiceError | undefined;
}

/** Returns an agent whose changes are followed. */
export const liveAgent = (client: Client, id: string): LiveState<AgentState> => {
  const shown = createState<AgentState>({ status: "loading" });
  const show = (agent: Agent) =>
    shown.update((state) => (state.agent && state.agent.version >= agent.version ? state : { agent, status: "ready" }));
  const fail = (error: unknown) => shown.update(() => ({ status: "failed", error: lost(error) }));
  const start = (signal: AbortSignal) => {
    const read = (): Promise<void> =>
      client.agents.get(id, undefined, { signal }).then(show, (error: unknown) => recover(error, fail, read, signal));
    const ready = eventHubOf(client).join(
      {
        onEvent({ type, agentId, data }) {
          if (agentId !== id) return;
          if (type === "agent.updated" && "agent" in data && "name" in data.agent) show(data.agent);
          else if (type === "agent.deleted") void read();
        },
        onReload: () => void read(),
      },
      signal,
    );
    // Read after the position is known, so that no change is missed. Without permission to follow events, it is read once.
    void ready.then(read);
  };
  return live(shown, start);
};
