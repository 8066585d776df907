import { Markdown } from "./markdown.js";
import { type Decide, type ShownCall, ToolCallView } from "./tool-call.js";

interface ReplyProps {
  text: string;
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

/** A reply, with each tool call where it happened. */
export const Reply = ({ text, toolCalls, isStreaming = false, decide }: ReplyProps) => {
  const pieces = piecesOf(text, toolCalls);
  return pieces.map((piece, index) => {
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
};
