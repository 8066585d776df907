import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ProblemError } from "agent-service-client";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { type Fault, FormError, JsonForm } from "../form/form.js";
import { useScope, useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { ErrorNotice, Loading } from "../ui/notice.js";
import { notify } from "../ui/toast.js";
import { type Agent, createBody, type Draft, draftOf, isSame, replaceBody } from "./agent.js";
import { Conflict } from "./conflict.js";
import { DeleteAgent } from "./delete.js";
import { AgentFields } from "./fields.js";

/** Returns the faults of a rejected draft, with pointers into the draft. */
const faultsIn = (error: unknown): Fault[] =>
  error instanceof ProblemError
    ? (error.problem.errors ?? []).map((fault) => (fault.pointer === undefined ? fault : { ...fault, pointer: fault.pointer.replace(/^\/config(?=\/)/, "") }))
    : [];

interface AgentFormProps {
  agent?: Agent;
  /** Saves the draft if the agent still has `version`. */
  save: (draft: Draft, version: number | undefined) => Promise<Agent>;
  onSaved: (agent: Agent) => void;
}

const AgentForm = ({ agent, save, onSaved }: AgentFormProps) => {
  const [base, setBase] = useState(agent);
  const [draft, setDraft] = useState<Draft>(() => (agent === undefined ? { name: "" } : draftOf(agent)));
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const [hasConflict, setHasConflict] = useState(false);
  const canWrite = useScope("agents:write");
  const isChanged = !isSame(draft, base === undefined ? { name: "" } : draftOf(base));

  // An agent that is not being edited shows the changes of others.
  useEffect(() => {
    if (agent === undefined || agent.version === base?.version || isChanged) return;
    setBase(agent);
    setDraft(draftOf(agent));
  }, [agent, base, isChanged]);

  useEffect(() => {
    if (!isChanged) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [isChanged]);

  const submit = async (changed = draft, version = base?.version) => {
    setIsBusy(true);
    setError(undefined);
    try {
      const saved = await save(changed, version);
      setBase(saved);
      setDraft(draftOf(saved));
      notify("Saved.");
      onSaved(saved);
    } catch (caught) {
      if (caught instanceof ProblemError && caught.code === "version_mismatch") setHasConflict(true);
      else setError(caught);
    } finally {
      setIsBusy(false);
    }
  };

  const resolve = (resolved: Draft, current: Agent) => {
    setHasConflict(false);
    setBase(current);
    setDraft(resolved);
    if (!isSame(resolved, draftOf(current))) void submit(resolved, current.version);
  };

  const faults = faultsIn(error);
  return (
    <JsonForm document={draft} onChange={(document) => setDraft(document as Draft)} faults={faults}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <fieldset className="stack" disabled={!canWrite}>
          <AgentFields {...(agent === undefined ? {} : { agentId: agent.id })} />
        </fieldset>
        <div className="save-bar">
          <FormError error={error} faults={faults} />
          <div className="row">
            <Button kind="primary" type="submit" disabled={isBusy || !canWrite || !isChanged}>
              {agent === undefined ? "Create the agent" : "Save"}
            </Button>
            {base !== undefined && isChanged && <Button onClick={() => setDraft(draftOf(base))}>Discard changes</Button>}
            <span className="muted small" role="status">
              {!canWrite ? "Your credential may not change agents." : isChanged ? "Not saved yet." : agent && `Version ${base?.version}.`}
            </span>
          </div>
        </div>
      </form>
      {hasConflict && base !== undefined && <Conflict base={base} mine={draft} onResolve={resolve} onClose={() => setHasConflict(false)} />}
    </JsonForm>
  );
};

export const NewAgentPage = () => {
  const { service } = useSession();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <>
      <header className="page-header">
        <div>
          <Link href="/agents" className="back">
            ← Agents
          </Link>
          <h1>New agent</h1>
        </div>
      </header>
      <AgentForm
        save={(draft) => service.agents.create(createBody(draft))}
        onSaved={(agent) => {
          void queries.invalidateQueries({ queryKey: ["agents"] });
          navigate(`/agents/${agent.id}`, { replace: true });
        }}
      />
    </>
  );
};

export const AgentPage = ({ id }: { id: string }) => {
  const { service } = useSession();
  const queries = useQueryClient();
  const [isDeleting, setIsDeleting] = useState(false);
  const canWrite = useScope("agents:write");
  const agent = useQuery({ queryKey: ["agent", id], queryFn: () => service.agents.get(id) });
  if (agent.isPending) return <Loading />;
  if (agent.data === undefined) return <ErrorNotice error={agent.error} onRetry={() => void agent.refetch()} />;
  return (
    <>
      <header className="page-header">
        <div>
          <Link href="/agents" className="back">
            ← Agents
          </Link>
          <h1>{agent.data.name}</h1>
          <p className="muted small mono">{id}</p>
        </div>
        <div className="row">
          <Link href={`/chat/${id}/${crypto.randomUUID()}`} className="button">
            <Icon name="chat" /> Chat
          </Link>
          {canWrite && (
            <Button onClick={() => setIsDeleting(true)}>
              <Icon name="trash" /> Delete
            </Button>
          )}
        </div>
      </header>
      {agent.isError && <ErrorNotice error={agent.error} />}
      <AgentForm
        agent={agent.data}
        save={(draft, version) => service.agents.putConfig(id, replaceBody(draft), { headers: { "If-Match": `"v${version}"` } })}
        onSaved={(saved) => {
          queries.setQueryData(["agent", id], saved);
          void queries.invalidateQueries({ queryKey: ["agents"] });
        }}
      />
      {isDeleting && <DeleteAgent agent={agent.data} onClose={() => setIsDeleting(false)} />}
    </>
  );
};
