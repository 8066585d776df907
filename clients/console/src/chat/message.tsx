import type { ConversationMessage, components } from "agent-service-client";
import { type ReactNode, useState } from "react";
import { MessageFiles } from "../files/message-files.js";
import { Badge } from "../ui/badge.js";
import { Button, IconButton } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { Reply } from "./reply.js";
import type { Decide } from "./tool-call.js";

type Turn = components["schemas"]["Turn"];

const EditForm = ({ text, canBeEmpty, onDone }: { text: string; canBeEmpty: boolean; onDone: (text?: string) => void }) => {
  const [changed, setChanged] = useState(text);
  return (
    <form
      className="stack-s edit-message"
      onSubmit={(event) => {
        event.preventDefault();
        onDone(changed);
      }}
      onKeyDown={(event) => event.key === "Escape" && onDone()}
    >
      <textarea
        className="input"
        rows={3}
        autoFocus
        dir="auto"
        aria-label="Changed message"
        value={changed}
        onChange={(event) => setChanged(event.target.value)}
      />
      <p className="hint">It replaces this message and all later ones.</p>
      <div className="row">
        <Button kind="primary" type="submit" disabled={changed.trim() === "" && !canBeEmpty}>
          Send the change
        </Button>
        <Button onClick={() => onDone()}>Cancel</Button>
      </div>
    </form>
  );
};

/** How a reply came about, after its state. */
export const TurnFacts = ({ turn, children }: { turn: Turn; children?: ReactNode }) => {
  const { engine, agentVersion, degraded, usage, finishReason, startedAt, finishedAt } = turn;
  const seconds = startedAt && finishedAt ? (new Date(finishedAt).getTime() - new Date(startedAt).getTime()) / 1000 : undefined;
  return (
    <span className="small muted facts-line">
      {children}
      {engine != null && <span>{engine}</span>}
      {degraded && <Badge tone="warn">degraded</Badge>}
      {finishReason != null && !["stop", "cancelled"].includes(finishReason) && <Badge tone="warn">{finishReason}</Badge>}
      {usage != null && (
        <span>
          {usage.inputTokens} + {usage.outputTokens} tokens
        </span>
      )}
      {seconds !== undefined && <span>{seconds.toFixed(seconds < 10 ? 2 : 0)} s</span>}
      {agentVersion != null && <span>agent version {agentVersion}</span>}
    </span>
  );
};

interface MessageViewProps {
  message: ConversationMessage;
  turn: Turn | undefined;
  /** The message could not be sent yet. */
  isKept?: boolean;
  /** The text of the form, while the message is edited. */
  edited?: string | undefined;
  onEdit?: (() => void) | undefined;
  onEdited?: (text?: string) => void;
  onRegenerate?: (() => void) | undefined;
  decide?: Decide | undefined;
}

const STATES = {
  sending: "Sending…",
  streaming: "Writing…",
  requires_action: "Waits for an answer",
  failed: "Failed",
  cancelled: "Stopped",
  complete: undefined,
};

/** Returns true for a reply whose turn goes on. */
export const isOpen = (status: ConversationMessage["status"]): boolean => status === "streaming" || status === "requires_action";

export const MessageView = ({ message, turn, isKept = false, edited, onEdit, onEdited, onRegenerate, decide }: MessageViewProps) => {
  const { role, text, status, toolCalls, files, turnId } = message;
  const reasoning = turn?.reasoning ?? message.reasoning;
  // A reply alone is stopped, not the message before it.
  const state = isKept ? "Not sent yet" : role === "user" && status === "cancelled" ? undefined : STATES[status];
  const shownState = state !== undefined && <span className={`small ${status === "failed" ? "fault" : "muted"}`}>{state}</span>;
  return (
    <article className={`message ${role}`} aria-label={role === "user" ? "You" : "Agent"}>
      <MessageFiles files={files} />
      {edited !== undefined && onEdited !== undefined ? (
        <EditForm text={edited} canBeEmpty={files.length > 0} onDone={onEdited} />
      ) : (
        role === "user" &&
        text !== "" && (
          <div className="bubble user" dir="auto">
            {text}
          </div>
        )
      )}
      {role === "agent" && (
        <Reply
          turnId={turnId}
          text={text}
          reasoning={reasoning}
          toolCalls={toolCalls}
          isStreaming={status === "streaming"}
          decide={decide}
        />
      )}
      <div className="row message-foot">
        {role === "agent" && turn !== undefined && !isOpen(status) ? <TurnFacts turn={turn}>{shownState}</TurnFacts> : shownState}
        {onRegenerate !== undefined && (
          <IconButton label="Regenerate the reply" onClick={onRegenerate}>
            <Icon name="refresh" size={16} />
          </IconButton>
        )}
        {onEdit !== undefined && edited === undefined && (
          <IconButton label="Edit the message" onClick={onEdit}>
            <Icon name="edit" size={16} />
          </IconButton>
        )}
      </div>
    </article>
  );
};
