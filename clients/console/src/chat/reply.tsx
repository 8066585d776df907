import { Icon } from "../ui/icon.js";
import { Markdown } from "./markdown.js";
import { type Decide, type ShownCall, ToolCallView } from "./tool-call.js";

interface ReplyProps {
  /** The turn of the reply. */
  turnId?: string | null | undefined;
  text: string;
  /** What the model has reasoned, if it is shown. */
  reasoning?: string | undefined;
  toolCalls: readonly ShownCall[];
  isStreaming?: boolean;
  decide?: Decide | undefined;
}

/** Splits a text at the positions of its tool calls, which are in bytes of UTF-8. */
const piecesOf = (text: string, toolCalls: readonly ShownCall[]): string[] => {
  const bytes = new TextEncoder().encode(text);
  const ends = [...toolCalls.map(({ at = 0 }) => at), bytes.length];
  return ends.map((end, index) => new TextDecoder().decode(bytes.subarray(ends[index - 1] ?? 0, end)).trim());
};

const DECISIONS: Record<string, string> = { denied: "Staff has denied", expired: "Nobody has decided in time about" };

/** How a reply came about that continues an earlier turn: after a decision about its first call. */
const Continued = ({ call: { name, status } }: { call: ShownCall }) => (
  <p className="small muted row">
    <Icon name="approvals" size={16} />
    <span>
      {DECISIONS[status] ?? "Staff has approved"} <span className="mono">{name}</span>.
    </span>
  </p>
);

/** Returns whether a call was made for an earlier turn, by whose id its own begins. */
const isOfEarlierTurn = ({ id = "" }: ShownCall, turnId: string): boolean => {
  const [, earlier = turnId] = /^(.+)-\d+$/.exec(id) ?? [];
  return earlier !== turnId;
};

/** The model's reasoning, folded. */
const Reasoning = ({ text, isOpen }: { text: string; isOpen: boolean }) => (
  <details className="reasoning small muted">
    <summary>{isOpen ? "Thinking…" : "Reasoning"}</summary>
    <div dir="auto">{text}</div>
  </details>
);

/** A reply after its reasoning, with each tool call where it happened. */
export const Reply = ({ turnId, text, reasoning = "", toolCalls, isStreaming = false, decide }: ReplyProps) => {
  const pieces = piecesOf(text, toolCalls);
  const [first] = toolCalls;
  const isContinued = first !== undefined && turnId != null && isOfEarlierTurn(first, turnId);
  const parts = pieces.map((piece, index) => {
    const isWriting = isStreaming && index === pieces.length - 1;
    const call = toolCalls[index];
    return (
      <div className="reply-part" key={index}>
        {(piece !== "" || isWriting) && (
          <div className={`bubble agent ${isWriting ? "is-writing" : ""}`} dir="auto">
            <Markdown text={piece} isStreaming={isWriting} />
          </div>
        )}
        {call !== undefined && <ToolCallView call={call} decide={decide} />}
      </div>
    );
  });
  return (
    <>
      {isContinued && <Continued call={first} />}
      {reasoning !== "" && <Reasoning text={reasoning} isOpen={isStreaming && text === ""} />}
      {parts}
    </>
  );
};
