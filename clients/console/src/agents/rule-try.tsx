import { useQuery } from "@tanstack/react-query";
import type { components } from "agent-service-client";
import { useState } from "react";
import { useForm } from "../form/form.js";
import type { Json } from "../form/json-pointer.js";
import { useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { ErrorNotice } from "../ui/notice.js";
import { useDebounced } from "../ui/use-debounced.js";
import { ruleName } from "./rules.js";

type RuleResult = components["schemas"]["RuleResult"];
type RuleTestRequest = components["schemas"]["RuleTestRequest"];

const SOURCES = { rule: "a rule", fallback_reply: "the fallback reply", small_talk: "small talk", default: "the default reply" };

const reasonOf = ({ outcome, capability, keyword }: RuleResult): string => {
  switch (outcome) {
    case "matched":
      return "Matched.";
    case "missing_capability":
      return `The agent lacks the capability “${capability}”.`;
    case "missing_keyword":
      return `The keyword “${keyword}” does not occur.`;
    case "pattern_not_found":
      return "The pattern was not found.";
    case "later":
      return "Not tried: another rule has matched before.";
  }
};

/** Tests the rules of the form, as they are, with a message. */
export const RuleTry = ({ agentId }: { agentId?: string }) => {
  const { service } = useSession();
  const { document } = useForm();
  const [message, setMessage] = useState("");
  const { rules = [], fallbackReply, capabilities = [] } = document as { [member: string]: Json };
  const body = useDebounced(JSON.stringify({ message, rules, capabilities, ...(fallbackReply ? { fallbackReply } : {}), ...(agentId ? { agentId } : {}) }));
  const test = useQuery({
    queryKey: ["rule-test", body],
    queryFn: () => service.rules.test(JSON.parse(body) as RuleTestRequest),
    enabled: message.trim() !== "",
    placeholderData: (previous) => previous,
  });
  const result = message.trim() === "" ? undefined : test.data;
  return (
    <aside className="try" aria-label="Try the rules">
      <label className="field">
        <span>Try a message</span>
        <input className="input" value={message} onChange={(event) => setMessage(event.target.value)} placeholder="When do you open?" />
      </label>
      {test.isError && message.trim() !== "" && <ErrorNotice error={test.error} />}
      <div aria-live="polite" className="stack-s">
        {result === undefined && !test.isError && <p className="muted small">Shows the reply of these rules, before they are saved.</p>}
        {result !== undefined && !test.isError && (
          <>
            <p className="bubble agent">{result.reply}</p>
            <p className="muted small">By {SOURCES[result.source]}.</p>
          </>
        )}
      </div>
      {result !== undefined && !test.isError && (
        <ol className="results">
          {result.rules.map((rule) => (
            <li key={rule.index}>
              <span className="row">
                <Badge tone={rule.outcome === "matched" ? "ok" : "neutral"}>{rule.index + 1}</Badge>
                <span className="truncate">{ruleName((rules as Json[])[rule.index], rule.index)}</span>
              </span>
              <span className="muted small">{reasonOf(rule)}</span>
            </li>
          ))}
        </ol>
      )}
    </aside>
  );
};
