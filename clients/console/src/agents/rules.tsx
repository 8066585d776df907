import { useEffect, useState } from "react";
import { SelectField, TextField, NumberField } from "../form/fields.js";
import { useField } from "../form/form.js";
import type { Json } from "../form/json-pointer.js";
import { TagsField } from "../form/pickers.js";
import { Button, IconButton } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { RuleTry } from "./rule-try.js";

type Rule = { [member: string]: Json };

/** Returns a short name for a rule. */
export const ruleName = (rule: Json | undefined, index: number): string => {
  const { name, pattern, keywords } = (rule ?? {}) as Rule;
  if (typeof name === "string") return name;
  if (typeof pattern === "string" && pattern !== "") return pattern;
  return Array.isArray(keywords) && keywords.length > 0 ? keywords.join(", ") : `Rule ${index + 1}`;
};

const Matching = ({ pointer }: { pointer: string }) => {
  const { value, set } = useField(pointer);
  const { pattern, keywords, ...others } = (value ?? {}) as Rule;
  const byKeywords = keywords !== undefined;
  const choose = (kind: string) => set(kind === "keywords" ? { ...others, keywords: [] } : { ...others, pattern: typeof pattern === "string" ? pattern : "" });
  return (
    <div className="rule-match">
      <label className="field">
        <span>Matches by</span>
        <select className="input" value={byKeywords ? "keywords" : "pattern"} onChange={(event) => choose(event.target.value)}>
          <option value="pattern">Pattern</option>
          <option value="keywords">Keywords</option>
        </select>
      </label>
      {byKeywords ? (
        <TagsField pointer={`${pointer}/keywords`} label="Keywords" suggestions={[]} placeholder="All of them must occur" />
      ) : (
        <TextField pointer={`${pointer}/pattern`} label="Pattern" isRequired isMono placeholder="when .*open|opening hours" />
      )}
    </div>
  );
};

const Answers = ({ pointer }: { pointer: string }) => {
  const { value, set } = useField(pointer);
  const { reply, replies, ...others } = (value ?? {}) as Rule;
  const hint = (
    <>
      May contain <code>{"{{agent.name}}"}</code>, <code>{"{{message}}"}</code>, <code>{"{{user.id}}"}</code>, <code>{"{{capture.1}}"}</code>.
    </>
  );
  if (!Array.isArray(replies)) {
    return (
      <>
        <TextField pointer={`${pointer}/reply`} label="Reply" rows={2} isRequired hint={hint} />
        <div>
          <Button className="small-button" onClick={() => set({ ...others, replies: [reply ?? "", ""] })}>
            <Icon name="plus" size={14} /> Several replies in turn
          </Button>
        </div>
      </>
    );
  }
  return (
    <>
      {replies.map((_, index) => (
        <TextField key={index} pointer={`${pointer}/replies/${index}`} label={`Reply ${index + 1}`} rows={2} isRequired />
      ))}
      <div className="row">
        <Button className="small-button" onClick={() => set({ ...others, replies: [...replies, ""] })}>
          <Icon name="plus" size={14} /> Another reply
        </Button>
        <Button className="small-button" onClick={() => set(replies.length > 2 ? { ...others, replies: replies.slice(0, -1) } : { ...others, reply: replies[0] ?? "" })}>
          Remove the last one
        </Button>
      </div>
    </>
  );
};

interface RuleCardProps {
  index: number;
  rules: Json[];
  onChange: (rules: Json[]) => void;
}

const RuleCard = ({ index, rules, onChange }: RuleCardProps) => {
  const pointer = `/rules/${index}`;
  const { faults } = useField(pointer, true);
  const { value: capabilities } = useField("/capabilities");
  const rule = rules[index] as Rule;
  const title = ruleName(rule, index);
  const [isOpen, setIsOpen] = useState(rule.reply === "");
  useEffect(() => {
    if (faults.length > 0) setIsOpen(true);
  }, [faults.length]);
  const move = (to: number) => onChange(rules.toSpliced(index, 1).toSpliced(to, 0, rule));
  const owned = Array.isArray(capabilities) ? capabilities.map(String) : [];
  return (
    <details className={`rule ${faults.length > 0 ? "has-fault" : ""}`} open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <span className="muted small">{index + 1}</span>
        <span className="truncate">{title}</span>
        {faults.length > 0 && <span className="fault small">needs attention</span>}
      </summary>
      <div className="stack">
        <div className="row rule-actions">
          <IconButton label={`Move “${title}” up`} disabled={index === 0} onClick={() => move(index - 1)}>
            <Icon name="up" />
          </IconButton>
          <IconButton label={`Move “${title}” down`} disabled={index === rules.length - 1} onClick={() => move(index + 1)}>
            <Icon name="down" />
          </IconButton>
          <IconButton label={`Delete “${title}”`} onClick={() => onChange(rules.toSpliced(index, 1))}>
            <Icon name="trash" />
          </IconButton>
        </div>
        <Matching pointer={pointer} />
        <Answers pointer={pointer} />
        <div className="columns">
          <TextField pointer={`${pointer}/name`} label="Name" placeholder="For your own use" />
          <SelectField pointer={`${pointer}/capability`} label="Only with the capability" options={[["", "Any"], ...owned.map((name) => [name, name] as const)]} />
          <NumberField pointer={`${pointer}/priority`} label="Priority" placeholder="0" hint="The highest is tried first." />
        </div>
      </div>
    </details>
  );
};

/** The rules of an agent, and a message to try them with. */
export const RuleEditor = ({ agentId }: { agentId?: string }) => {
  const { value, set } = useField("/rules");
  const rules = Array.isArray(value) ? value : [];
  const change = (changed: Json[]) => set(changed.length === 0 ? undefined : changed);
  return (
    <section className="card stack">
      <div className="row spread">
        <h2>Rules</h2>
        <Button onClick={() => change([...rules, { pattern: "", reply: "" }])}>
          <Icon name="plus" /> Add a rule
        </Button>
      </div>
      <p className="muted">The engine “rules” answers with the first rule that matches, without network or model.</p>
      <div className="rule-columns">
        <div className="stack-s" id="field-rules" tabIndex={-1}>
          {rules.length === 0 && <p className="muted small">No rules yet: the agent greets, introduces itself and lists its capabilities.</p>}
          {rules.map((_, index) => (
            <RuleCard key={index} index={index} rules={rules} onChange={change} />
          ))}
          <TextField pointer="/fallbackReply" label="Fallback reply" rows={2} hint="The reply if no rule matches." />
        </div>
        <RuleTry {...(agentId === undefined ? {} : { agentId })} />
      </div>
    </section>
  );
};
