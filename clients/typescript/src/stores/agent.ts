import { lost, type ServiceError } from "../errors.js";
import type { components } from "../generated/schema.js";
import type { Client } from "../index.js";
import { createState, type LiveState } from "../state.js";
import { eventHubOf } from "./event-hub.js";
import { live } from "./live.js";
import { recover } from "./recover.js";

export type Profile = components["schemas"]["Profile"];

/** What a page shows of an agent. */
export interface AgentState {
  agent?: Profile | undefined;
  status: "loading" | "ready" | "failed";
  /** The reason for `failed`, such as `agent_not_found`. */
  error?: ServiceError | undefined;
}

/** Returns what pages show of an agent, and follows its changes. */
export const liveAgent = (client: Client, id: string): LiveState<AgentState> => {
  const shown = createState<AgentState>({ status: "loading" });
  let reads = 0;
  const fail = (error: unknown) => shown.update(() => ({ status: "failed", error: lost(error) }));
  const start = (signal: AbortSignal) => {
    const read = (): Promise<void> => {
      const number = ++reads;
      // The response to an earlier read can come later.
      const show = (agent: Profile) => void (number === reads && shown.update(() => ({ agent, status: "ready" })));
      return client.profiles.get(id, undefined, { signal }).then(show, (error: unknown) => recover(error, fail, read, signal));
    };
    const ready = eventHubOf(client).join(
      {
        onEvent({ type, agentId }) {
          // Events have no greeting.
          if (agentId === id && (type === "agent.updated" || type === "agent.deleted")) void read();
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
