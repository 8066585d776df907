import { ProblemError, randomId } from "agent-service-client";
import { useRef } from "react";
import { useSession } from "../session/session.js";
import { type Agent, createBody, type Draft, isSame, isStoredIn, replaceBody } from "./agent.js";

/** Returns true if the agent has another version than the one that was edited. */
export const isMismatch = (error: unknown): boolean => error instanceof ProblemError && error.code === "version_mismatch";

/** Returns true if the service has rejected the content of a request, so that no earlier attempt has stored it either. */
const isInvalid = (error: unknown): boolean => error instanceof ProblemError && [413, 422].includes(error.problem.status);

/** Saves the drafts of an editor. A draft is stored once, and is not taken for the change of somebody else, although responses are lost. */
export const useSaving = () => {
  const { service } = useSession();
  /** The drafts that were sent since the edited version. One of them may be stored. */
  const sent = useRef<Draft[]>([]);
  /** The first request that may have created the agent. */
  const creation = useRef<{ draft: Draft; idempotencyKey: string }>(undefined);

  /** Returns the sent draft that is stored in an agent. */
  const storedIn = (agent: Agent): Draft | undefined => sent.current.find((draft) => isStoredIn(draft, agent));

  /** Saves a draft if the agent still has `version`, or what was sent since. */
  const replace = async (id: string, draft: Draft, version: number): Promise<Agent> => {
    sent.current.push(draft);
    try {
      return await service.agents.putConfig(id, replaceBody(draft), { headers: { "If-Match": `"v${version}"` } });
    } catch (error) {
      if (!isMismatch(error)) throw error;
      const current = await service.agents.get(id);
      if (isStoredIn(draft, current)) return current;
      if (storedIn(current) === undefined) throw error;
      return replace(id, draft, current.version);
    }
  };

  /** Creates an agent. After a lost response it repeats that request, and then saves what has changed since. */
  const create = async (draft: Draft): Promise<Agent> => {
    const { draft: first, idempotencyKey } = (creation.current ??= { draft, idempotencyKey: randomId() });
    try {
      const created = await service.agents.create(createBody(first), { idempotencyKey });
      sent.current.push(first);
      return isSame(first, draft) ? created : await replace(created.id, draft, created.version);
    } catch (error) {
      if (!isInvalid(error) || sent.current.length > 0) throw error;
      creation.current = undefined;
      if (isSame(first, draft)) throw error;
      return create(draft);
    }
  };

  /** Forgets what was sent, because the editor continues from another version. */
  const forget = () => {
    sent.current = [];
  };

  return { create, replace, storedIn, forget };
};
