import { useEffect, useState } from "react";
import { TextField } from "../form/fields.js";
import { useField, useForm } from "../form/form.js";
import type { Json } from "../form/json-pointer.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { RuleCard } from "./rule-card.js";
import { RuleTry } from "./rule-try.js";

/** The number of rules that are shown first, and that a button adds. */
const PAGE = 25;

/** The rules, each with its state in the page, which moves with it. */
const RuleList = () => {
  const { value, set } = useField("/rules");
  const { faultsAt } = useForm();
  const rules = Array.isArray(value) ? value : [];
  const [open, setOpen] = useState<readonly boolean[]>([]);
  const [shown, setShown] = useState(PAGE);
  const faulty = rules.flatMap((_, index) => (faultsAt(`/rules/${index}`, true).length > 0 ? [index] : []));
  const opened = faulty.join();
  // Faults are shown, wherever they are.
  useEffect(() => {
    if (opened === "") return;
    const indexes = opened.split(",").map(Number);
    setOpen((before) =>
      Array.from({ length: Math.max(before.length, ...indexes) + 1 }, (_, index) => before[index] === true || indexes.includes(index)),
    );
    setShown((before) => Math.max(before, ...indexes.map((index) => index + 1)));
  }, [opened]);

  /** Changes rules and states alike. */
  const change = (edit: <Item>(items: Item[]) => Item[]) => {
    const changed = edit<Json>(rules);
    setOpen(edit(rules.map((_, index) => open[index] === true)));
    set(changed.length === 0 ? undefined : changed);
  };
  const add = () => {
    setOpen([...rules.map((_, index) => open[index] === true), true]);
    setShown(Math.max(shown, rules.length + 1));
    set([...rules, { pattern: "", reply: "" }]);
  };
  return (
    <div className="stack-s" id="field-rules" tabIndex={-1}>
      {rules.length === 0 && <p className="muted small">No rules yet: the agent greets, introduces itself and lists its capabilities.</p>}
      {rules.slice(0, shown).map((rule, index) => (
        <RuleCard
          key={index}
          index={index}
          rule={rule}
          isOpen={open[index] === true}
          isLast={index === rules.length - 1}
          onToggle={(isOpen) => setOpen((before) => rules.map((_, other) => (other === index ? isOpen : before[other] === true)))}
          onMove={(to) =>
            change((items) => {
              const others = items.toSpliced(index, 1);
              return [...others.slice(0, to), ...items.slice(index, index + 1), ...others.slice(to)];
            })
          }
          onDelete={() => change((items) => items.toSpliced(index, 1))}
        />
      ))}
      <div className="row">
        {rules.length > shown && <Button onClick={() => setShown(shown + PAGE)}>Show more of {rules.length} rules</Button>}
        <Button onClick={add}>
          <Icon name="plus" /> Add a rule
        </Button>
      </div>
    </div>
  );
};

/** The rules of an agent, and a message to try them with. */
export const RuleEditor = ({ agentId }: { agentId?: string }) => (
  <section className="card stack">
    <div>
      <h2>Rules</h2>
      <p className="muted">The engine “rules” answers with the first rule that matches, without network or model.</p>
    </div>
    <div className="rule-columns">
      <div className="stack">
        <RuleList />
        <TextField pointer="/fallbackReply" label="Fallback reply" rows={2} hint="The reply if no rule matches." />
      </div>
      <RuleTry {...(agentId === undefined ? {} : { agentId })} />
    </div>
  </section>
);
