import type { ToolCall } from "agent-service-client";
import { useState } from "react";
import { Link } from "wouter";
import { useMayDecide } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { Time } from "../ui/time.js";

/** A call, as far as it is shown. */
export type ShownCall = Pick<ToolCall, "name" | "status"> & Partial<ToolCall>;

/** The answers of this page to calls that wait for approval by the user, or by staff. */
export interface Decide {
  approver: "user" | "staff";
  isDisabled?: boolean;
  approve(callId: string): unknown;
  deny(callId: string, reason?: string): unknown;
}

const formatted = (value: unknown): string => {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
};

const toneOf = (status: string) => (status === "running" ? "accent" : ["ok", "approved"].includes(status) ? "ok" : "warn");

const Head = ({ name, status }: { name: string; status: string }) => (
  <>
    <Icon name="tool" size={16} />
    <span className="mono">{name}</span>
    <Badge tone={toneOf(status)}>{status}</Badge>
  </>
);

const Arguments = ({ value, title = "Arguments" }: { value: unknown; title?: string }) => (
  <>
    <h3 className="small muted">{title}</h3>
    <pre>{formatted(value ?? {})}</pre>
  </>
);

const Decision = ({ call: { id = "", name }, decide }: { call: ShownCall; decide: Decide }) => {
  const [reason, setReason] = useState("");
  const { isDisabled = false } = decide;
  return (
    <div className="row">
      <Button kind="primary" aria-disabled={isDisabled} onClick={() => isDisabled || decide.approve(id)}>
        Approve
      </Button>
      <Button aria-disabled={isDisabled} onClick={() => isDisabled || decide.deny(id, reason)}>
        Deny
      </Button>
      <input
        className="input"
        dir="auto"
        maxLength={2000}
        aria-label={`Reason to deny ${name}`}
        placeholder="Reason (the user may read it)"
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
    </div>
  );
};

const NEEDS = { user: "Waits for approval", staff: "Waits for approval by staff", output: "Waits for the page that has this tool" };

/** A call that waits for an answer. */
const WaitingCall = ({ call, decide }: { call: ShownCall; decide: Decide | undefined }) => {
  const { name, status, needs = "approval", approver = "user", expiresAt } = call;
  const mayDecide = useMayDecide();
  const isDecidedHere = needs === "approval" && decide?.approver === approver;
  return (
    <section className="tool-call is-waiting" aria-label={`Waiting call of ${name}`}>
      <div className="row">
        <Head name={name} status={status} />
      </div>
      <Arguments value={call.arguments} />
      <p className="small muted facts-line">
        <span>{NEEDS[needs === "output" ? needs : approver]}</span>
        {expiresAt !== undefined && (
          <span>
            expires <Time at={expiresAt} />
          </span>
        )}
        {approver === "staff" && mayDecide && !isDecidedHere && <Link href="/approvals">Decide in Approvals</Link>}
      </p>
      {isDecidedHere && <Decision call={call} decide={decide} />}
    </section>
  );
};

const VERBS: Record<string, string> = { approved: "Approved", denied: "Denied" };

interface ToolCallProps {
  call: ShownCall;
  decide?: Decide | undefined;
  isOpen?: boolean;
}

/** A tool call with its arguments, its result, and who has answered it. */
export const ToolCallView = ({ call, decide, isOpen = false }: ToolCallProps) => {
  const { name, status, result, decidedBy, decidedAt } = call;
  if (call.needs !== undefined) return <WaitingCall call={call} decide={decide} />;
  return (
    <details className="tool-call" open={isOpen}>
      <summary>
        <Head name={name} status={status} />
      </summary>
      {decidedBy !== undefined && (
        <p className="small muted">
          {VERBS[status] ?? "Answered"} by <span className="mono">{decidedBy}</span> {decidedAt !== undefined && <Time at={decidedAt} />}
        </p>
      )}
      <Arguments value={call.arguments} />
      {call.editedArguments !== undefined && <Arguments title="Changed by staff" value={call.editedArguments} />}
      {result != null && (
        <>
          <h3 className="small muted">Result</h3>
          <pre>{formatted(result)}</pre>
        </>
      )}
    </details>
  );
};
