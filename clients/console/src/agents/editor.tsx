import { Tabs } from "@base-ui/react/tabs";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { randomId } from "agent-service-client";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { type Fault, FormError, faultsIn, JsonForm, useFaults } from "../form/form.js";
import { useScope, useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { CopyableId } from "../ui/copy.js";
import { Icon } from "../ui/icon.js";
import { MissingScope } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
import { QueryState } from "../ui/query-state.js";
import { notify } from "../ui/toast.js";
import { useFilter } from "../ui/use-filter.js";
import { forgetChanges, useUnsaved } from "../unsaved.js";
import { type Agent, changedMembers, type Draft, draftOf, isSame, withMembers } from "./agent.js";
import { Conflict } from "./conflict.js";
import { DeleteAgent } from "./delete.js";
import { AgentFields } from "./fields.js";
import { Programs } from "./programs.js";
import { isMismatch, useSaving } from "./saving.js";

/** Returns the faults of a rejected draft, with pointers into the draft. */
const faultsInDraft = (error: unknown): Fault[] =>
  faultsIn(error).map((fault) =>
    fault.pointer === undefined ? fault : { ...fault, pointer: fault.pointer.replace(/^\/config(?=\/)/, "") },
  );

interface AgentFormProps {
  agent?: Agent | undefined;
  /** Receives the saved agent, and whether it has changes again that were made meanwhile. */
  onSaved: (agent: Agent, isChanged: boolean) => void;
}

const AgentForm = ({ agent, onSaved }: AgentFormProps) => {
  const [base, setBase] = useState(agent);
  const [draft, setDraft] = useState<Draft>(() => (agent === undefined ? { name: "" } : draftOf(agent)));
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const [hasConflict, setHasConflict] = useState(false);
  const saving = useSaving();
  const canWrite = useScope("agents:write");
  const isChanged = !isSame(draft, base === undefined ? { name: "" } : draftOf(base));
  const newest = useRef(draft);
  useLayoutEffect(() => {
    newest.current = draft;
  }, [draft]);

  useUnsaved(isChanged && canWrite);

  /** Continues from the agent in which `stored` was saved, with what was typed meanwhile. */
  const proceed = (saved: Agent, stored: Draft) => {
    const typed = changedMembers(stored, newest.current);
    saving.forget();
    setBase(saved);
    setDraft(withMembers(draftOf(saved), typed, newest.current));
    setError(undefined);
    if (typed.length === 0) forgetChanges();
    notify("Saved.");
    onSaved(saved, typed.length > 0);
  };

  const submit = async (changed = draft, version = base?.version ?? 0) => {
    setIsBusy(true);
    setError(undefined);
    try {
      proceed(await (base === undefined ? saving.create(changed) : saving.replace(base.id, changed, version)), changed);
    } catch (caught) {
      if (base !== undefined && isMismatch(caught)) setHasConflict(true);
      else setError(caught);
    } finally {
      setIsBusy(false);
    }
  };

  useEffect(() => {
    if (isBusy || agent === undefined || agent.version <= (base?.version ?? 0)) return;
    const stored = saving.storedIn(agent);
    if (stored !== undefined) {
      // The response to this draft was lost.
      proceed(agent, stored);
    } else if (!isChanged) {
      // An agent that is not being edited shows the changes of others.
      setBase(agent);
      setDraft(draftOf(agent));
    }
  });

  const resolve = (resolved: Draft, current: Agent) => {
    setHasConflict(false);
    saving.forget();
    setBase(current);
    setDraft(resolved);
    if (!isSame(resolved, draftOf(current))) void submit(resolved, current.version);
  };

  const faults = useFaults(error, draft, faultsInDraft);
  const isOutdated = isChanged && agent !== undefined && agent.version > (base?.version ?? 0);
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
          <AgentFields {...(base === undefined ? {} : { agentId: base.id })} />
        </fieldset>
        <div className="save-bar">
          <FormError error={error} faults={faults} />
          {isOutdated && (
            <p className="notice warn" role="status">
              Somebody else has saved version {agent?.version} meanwhile. When you save, you choose what to keep.
            </p>
          )}
          <div className="row">
            <Button kind="primary" type="submit" disabled={isBusy || !canWrite || !isChanged}>
              {base === undefined ? "Create the agent" : "Save"}
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
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [created, setCreated] = useState<Agent>();
  if (!useScope("agents:write")) return <MissingScope scope="agents:write" />;
  return (
    <>
      <PageHeader title={created?.name ?? "New agent"} back={["/agents", "Agents"]} />
      <AgentForm
        agent={created}
        onSaved={(agent, isChanged) => {
          void queries.invalidateQueries({ queryKey: ["agents"] });
          // Another page would lose what was typed while the agent was created.
          if (isChanged) setCreated(agent);
          else navigate(`/agents/${agent.id}`, { replace: true });
        }}
      />
    </>
  );
};

export const AgentPage = ({ id }: { id: string }) => {
  const { service } = useSession();
  const queries = useQueryClient();
  const [isDeleting, setIsDeleting] = useState(false);
  const [tab, setTab] = useFilter("tab");
  const canRead = useScope("agents:read");
  const canWrite = useScope("agents:write");
  const agent = useQuery({ queryKey: ["agent", id], queryFn: () => service.agents.get(id), enabled: canRead });
  if (!canRead) return <MissingScope scope="agents:read" />;
  const back = ["/agents", "Agents"] as const;
  if (agent.data === undefined) {
    return (
      <>
        <PageHeader title="Agent" back={back} />
        <QueryState query={agent} />
      </>
    );
  }
  return (
    <>
      <PageHeader title={agent.data.name} back={back} detail={<CopyableId id={id} of="agent" />}>
        <Link href={`/conversations?agentId=${id}`} className="button">
          <Icon name="conversations" /> Conversations
        </Link>
        <Link href={`/chat/${id}/${randomId()}`} className="button">
          <Icon name="chat" /> Chat
        </Link>
        {canWrite && (
          <Button onClick={() => setIsDeleting(true)}>
            <Icon name="trash" /> Delete
          </Button>
        )}
      </PageHeader>
      <QueryState query={agent} />
      <Tabs.Root value={tab === "use" ? tab : "configuration"} onValueChange={(value) => setTab(value === "use" ? value : "")}>
        <Tabs.List className="tabs">
          <Tabs.Tab className="tab" value="configuration">
            Configuration
          </Tabs.Tab>
          <Tabs.Tab className="tab" value="use">
            Use this agent
          </Tabs.Tab>
          <Tabs.Indicator className="tab-indicator" />
        </Tabs.List>
        {/* It may have changes that are not saved. */}
        <Tabs.Panel value="configuration" className="panel" keepMounted>
          <AgentForm
            agent={agent.data}
            onSaved={(saved) => {
              queries.setQueryData(["agent", id], saved);
              void queries.invalidateQueries({ queryKey: ["agents"] });
            }}
          />
        </Tabs.Panel>
        <Tabs.Panel value="use" className="panel" keepMounted>
          <Programs agentId={id} />
        </Tabs.Panel>
      </Tabs.Root>
      {isDeleting && <DeleteAgent agent={agent.data} onClose={() => setIsDeleting(false)} />}
    </>
  );
};
