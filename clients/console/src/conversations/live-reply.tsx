import type { TurnPart } from "agent-service-client";
import { useEffect, useState } from "react";
import { Reply } from "../chat/reply.js";
import type { ShownCall } from "../chat/tool-call.js";
import { useSession } from "../session/session.js";

interface Written {
  text: string;
  reasoning: string;
  calls: readonly ShownCall[];
}

const EMPTY: Written = { text: "", reasoning: "", calls: [] };

/** Returns the reply with a further part of its turn. */
const withPart = (written: Written, part: TurnPart): Written => {
  const { text, reasoning, calls } = written;
  switch (part.type) {
    case "turn.started":
      return EMPTY;
    case "reply.delta":
      return { ...written, text: text + part.text };
    case "reasoning.delta":
      return { ...written, reasoning: (part.from ? reasoning : "") + part.text };
    case "tool.called":
      return { ...written, calls: [...calls, { id: part.id, name: part.name, at: part.at, arguments: part.arguments, status: "running" }] };
    case "tool.returned": {
      const { id, status, result, needs, approver, expiresAt } = part;
      const end = { status, result, needs, approver, expiresAt };
      return { ...written, calls: calls.map((call) => (call.id === id ? { ...call, ...end } : call)) };
    }
    default:
      return written;
  }
};

/** The reply that is being written, until the event log reports its end. */
export const LiveReply = ({ turnId, conversationId }: { turnId: string; conversationId: string }) => {
  const { service } = useSession();
  const [written, setWritten] = useState(EMPTY);
  useEffect(() => {
    const ended = new AbortController();
    const follow = async () => {
      for await (const part of service.follow(conversationId, { signal: ended.signal })) setWritten((known) => withPart(known, part));
    };
    // The messages are read again at the end of the turn, whatever happens to the stream.
    follow().catch(() => {});
    return () => ended.abort();
  }, [service, conversationId]);
  return (
    <article className="message agent" aria-label="Agent">
      <Reply turnId={turnId} text={written.text} reasoning={written.reasoning} toolCalls={written.calls} isStreaming />
      <p className="muted small" role="status">
        The agent is writing…
      </p>
    </article>
  );
};
