import { NumberField, SelectField } from "../form/fields.js";
import { useField } from "../form/form.js";
import { SuggestField } from "../form/pickers.js";
import { Button, IconButton } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { useCatalogue } from "./fields.js";

const VISIBILITIES = [
  ["", "Default (status)"],
  ["full", "Everything"],
  ["status", "Name, status and times"],
  ["none", "Nothing"],
] as const;

/** The tools of an agent, with what users see of their calls, and their limits. */
export const ToolEditor = () => {
  const { capabilities } = useCatalogue();
  const { value, set, faults } = useField("/tools");
  const tools = Array.isArray(value) ? value : [];
  const suggestions = capabilities.map(({ name, kind, description, available }) => ({
    value: kind === "server" ? `${name}/*` : name,
    detail: available ? description : `${description} (not available now)`,
  }));
  const remove = (index: number) => {
    const others = tools.toSpliced(index, 1);
    set(others.length === 0 ? undefined : others);
  };
  return (
    <section className="card stack">
      <div>
        <h2>Tools</h2>
        <p className="muted">Tools with settings of their own. Keys and colleagues see all calls, whatever users see.</p>
      </div>
      <div className="stack-s" id="field-tools" tabIndex={-1}>
        {tools.map((_, index) => (
          <fieldset className="columns" key={index} aria-label={`Tool ${index + 1}`}>
            <SuggestField pointer={`/tools/${index}/name`} label="Tool" placeholder="server/tool or server/*" suggestions={suggestions} />
            <SelectField pointer={`/tools/${index}/visibility`} label="Users see" options={VISIBILITIES} />
            <NumberField pointer={`/tools/${index}/timeoutMs`} label="Time limit in milliseconds" placeholder="15000" />
            <IconButton label={`Remove tool ${index + 1}`} onClick={() => remove(index)}>
              <Icon name="trash" size={16} />
            </IconButton>
          </fieldset>
        ))}
        {faults.length > 0 && <p className="fault">{faults.join(" ")}</p>}
        <div className="row">
          <Button onClick={() => set([...tools, { name: "" }])}>
            <Icon name="plus" /> Add a tool
          </Button>
        </div>
      </div>
      <div className="columns">
        <NumberField pointer="/maxToolRounds" label="Rounds of tool calls in a turn" placeholder="8" />
        <NumberField pointer="/maxToolCalls" label="Tool calls in a turn" placeholder="16" />
      </div>
    </section>
  );
};
