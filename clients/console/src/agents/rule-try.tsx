import { useQuery } from "@tanstack/react-query";
import type { components } from "agent-service-client";
import { useState } from "react";
import { Reply } from "../chat/reply.js";
import { FormError, faultsIn, useForm, withJsonErrors } from "../form/form.js";
import type { Json } from "../form/json-pointer.js";
import { useSession } from "../session/session.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { ErrorNotice } from "../ui/notice.js";
import { useDebounced } from "../ui/use-debounced.js";
import { ruleName } from "./rule.js";

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

/** The number of rules that are shown first, and that a button adds. */
const PAGE = 20;

/** Why each rule answers or not: first the one that does, then the others in their order. */
const Results = ({ results, rules }: { results: readonly RuleResult[]; rules: readonly Json[] }) => {
  const [shown, setShown] = useState(PAGE);
  const sorted = [...results].sort((one, other) => Number(other.outcome === "matched") - Number(one.outcome === "matched"));
  return (
    <>
      <ol className="results">
        {sorted.slice(0, shown).map((rule) => (
          <li key={rule.index}>
            <Badge tone={rule.outcome === "matched" ? "ok" : "neutral"}>{rule.index + 1}</Badge>
            <span className="list-main">
              <span className="truncate" dir="auto">
                {ruleName(rules[rule.index], rule.index)}
              </span>
              <span className="muted small">{reasonOf(rule)}</span>
            </span>
          </li>
        ))}
      </ol>
      {results.length > shown && (
        <Button className="small-button" onClick={() => setShown(shown + PAGE)}>
          Show more of {results.length} rules
        </Button>
      )}
    </>
  );
};

/** Tests the rules of the form, as they are, with a message. */
export const RuleTry = ({ agentId }: { agentId?: string }) => {
  const { service } = useSession();
  const { document } = useForm();
  const [message, setMessage] = useState("");
  const { rules = [], fallbackReply, capabilities = [], tools = [] } = document as { [member: string]: Json };
  const body = useDebounced(
    JSON.stringify({ message, rules, capabilities, tools, ...(fallbackReply ? { fallbackReply } : {}), ...(agentId ? { agentId } : {}) }),
  );
  const test = useQuery({
    queryKey: ["rule-test", body],
    queryFn: () => service.rules.test(JSON.parse(body) as RuleTestRequest),
    enabled: message.trim() !== "",
    placeholderData: (previous) => previous,
  });
  // The result of an earlier text is not shown for one that cannot be tried.
  const failure = message.trim() === "" ? null : test.failureReason;
  const result = message.trim() === "" || failure !== null ? undefined : test.data;
  return (
    <aside className="try" aria-label="Try the rules">
      <label className="field">
        <span>Try a message</span>
        <input
          className="input"
          dir="auto"
          value={message}
          onChange={(event) => setMessage(event.target.value)}
          placeholder="When do you open?"
        />
      </label>
      {failure !== null &&
        (test.isError ? (
          <FormError error={failure} faults={withJsonErrors(faultsIn(failure), document)} />
        ) : (
          <ErrorNotice error={failure} isRepeated />
        ))}
      <div aria-live="polite" className="stack-s">
        {result === undefined && failure === null && <p className="muted small">Shows the reply of these rules, before they are saved.</p>}
        {result !== undefined && (
          <>
            {result.call !== undefined && (
              <p className="muted small">
                Calls <code>{result.call.tool}</code> with <code>{JSON.stringify(result.call.arguments)}</code>, then replies:
              </p>
            )}
            <Reply text={result.reply} toolCalls={[]} />
            <p className="muted small">By {SOURCES[result.source]}.</p>
          </>
        )}
      </div>
      {result !== undefined && <Results results={result.rules} rules={rules as Json[]} />}
    </aside>
  );
};
