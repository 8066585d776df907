import { NumberField, SelectField, TextField } from "../form/fields.js";
import { controlId, useField } from "../form/form.js";
import type { Json } from "../form/json-pointer.js";
import { TagsField } from "../form/pickers.js";
import { Badge } from "../ui/badge.js";
import { Button, IconButton } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { type Rule, ruleName } from "./rule.js";
import { RuleCall } from "./rule-call.js";

const Matching = ({ pointer }: { pointer: string }) => {
  const { value, set } = useField(pointer);
  const { pattern, keywords, ...others } = (value ?? {}) as Rule;
  const byKeywords = keywords !== undefined;
  const choose = (kind: string) =>
    set(kind === "keywords" ? { ...others, keywords: [] } : { ...others, pattern: typeof pattern === "string" ? pattern : "" });
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
      May contain <code>{"{{agent.name}}"}</code>, <code>{"{{message}}"}</code>, <code>{"{{user.id}}"}</code>,{" "}
      <code>{"{{capture.1}}"}</code>.
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
        <Button
          className="small-button"
          onClick={() => set(replies.length > 2 ? { ...others, replies: replies.slice(0, -1) } : { ...others, reply: replies[0] ?? "" })}
        >
          Remove the last one
        </Button>
      </div>
    </>
  );
};

interface RuleCardProps {
  index: number;
  rule: Json;
  isOpen: boolean;
  isLast: boolean;
  onToggle: (isOpen: boolean) => void;
  /** Moves the rule to another position. */
  onMove: (to: number) => void;
  onDelete: () => void;
}

/** A rule. Its fields exist only while it is open, since an agent may have hundreds of rules. */
export const RuleCard = ({ index, rule, isOpen, isLast, onToggle, onMove, onDelete }: RuleCardProps) => {
  const pointer = `/rules/${index}`;
  const { faults } = useField(pointer, true);
  const { value: capabilities } = useField("/capabilities");
  const title = ruleName(rule, index);
  const owned = Array.isArray(capabilities) ? capabilities.map(String) : [];
  return (
    <details
      className={`rule ${faults.length > 0 ? "has-fault" : ""}`}
      open={isOpen}
      onToggle={(event) => onToggle(event.currentTarget.open)}
    >
      <summary id={controlId(pointer)}>
        <span className="rule-index">{index + 1}</span>
        <span className="truncate" dir="auto">
          {title}
        </span>
        {faults.length > 0 && <Badge tone="danger">invalid</Badge>}
      </summary>
      {isOpen && (
        <div className="stack">
          <div className="rule-actions">
            <IconButton label={`Move “${title}” up`} disabled={index === 0} onClick={() => onMove(index - 1)}>
              <Icon name="up" size={16} />
            </IconButton>
            <IconButton label={`Move “${title}” down`} disabled={isLast} onClick={() => onMove(index + 1)}>
              <Icon name="down" size={16} />
            </IconButton>
            <IconButton label={`Delete “${title}”`} onClick={onDelete}>
              <Icon name="trash" size={16} />
            </IconButton>
          </div>
          <Matching pointer={pointer} />
          <RuleCall pointer={pointer} />
          <Answers pointer={pointer} />
          <div className="columns">
            <TextField pointer={`${pointer}/name`} label="Name" placeholder="For your own use" />
            <SelectField
              pointer={`${pointer}/capability`}
              label="Only with the capability"
              options={[["", "Any"], ...owned.map((name) => [name, name] as const)]}
            />
            <NumberField pointer={`${pointer}/priority`} label="Priority" placeholder="0" hint="The highest is tried first." />
          </div>
        </div>
      )}
    </details>
  );
};
