import { Badge } from "../ui/badge.js";
import { Icon } from "../ui/icon.js";

export interface ToolCall {
  name: string;
  status: string;
  /** The position in the reply, in bytes of UTF-8. */
  at?: number;
  arguments?: unknown;
  result?: string | null | undefined;
}

const formatted = (value: unknown): string => {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
};

/** A tool call with its arguments and its result. */
export const ToolCallView = ({ call }: { call: ToolCall }) => (
  <details className="tool-call">
    <summary>
      <Icon name="tool" size={16} />
      <span className="mono">{call.name}</span>
      <Badge tone={call.status === "running" ? "accent" : call.status === "ok" ? "ok" : "warn"}>{call.status}</Badge>
    </summary>
    <h3 className="small muted">Arguments</h3>
    <pre>{formatted(call.arguments ?? {})}</pre>
    {call.result != null && (
      <>
        <h3 className="small muted">Result</h3>
        <pre>{formatted(call.result)}</pre>
      </>
    )}
  </details>
);
