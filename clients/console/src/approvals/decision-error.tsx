import type { ProblemCode } from "agent-service-client";
import { ErrorNotice, problemIn } from "../ui/notice.js";

/** Why a call cannot be decided, in the words of the list; the service addresses programs. */
const SENTENCES: Partial<Record<ProblemCode, string>> = {
  action_decided: "Somebody else has decided meanwhile, or the turn has ended.",
  action_expired: "It is too late: nobody has decided in time.",
  conversation_busy: "The agent is still working on this turn. Decide when it has replied.",
  insufficient_scope: "Your credential may not decide this: it needs tools:approve, and that of a user conversations:all, too.",
  own_conversation: "This conversation is your own. Let another member of staff decide.",
};

const codeOf = (error: unknown): ProblemCode | undefined => problemIn(error)?.code;

/** Returns whether nobody can decide about the call any more. */
export const isOver = (error: unknown): boolean => /^action_/.test(codeOf(error) ?? "");

/** Why a decision was not stored. */
export const DecisionError = ({ error }: { error: unknown }) => {
  const code = codeOf(error);
  const sentence = code && SENTENCES[code];
  if (sentence === undefined) return <ErrorNotice error={error} />;
  return (
    <p className={`notice ${isOver(error) ? "warn" : "danger"}`} role="alert">
      {sentence}
    </p>
  );
};
