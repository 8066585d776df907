import { controlId, useField } from "../form/form.js";
import { JsonField } from "../form/parsed-field.js";
import { SuggestField } from "../form/pickers.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { useCatalogue } from "./catalogue.js";

/** The tool that a rule calls before it replies. */
export const RuleCall = ({ pointer }: { pointer: string }) => {
  const { value, set } = useField(`${pointer}/call`);
  const { capabilities } = useCatalogue();
  if (value === undefined) {
    return (
      <div>
        <Button className="small-button" onClick={() => set({ tool: "" })}>
          <Icon name="plus" size={14} /> Call a tool before the reply
        </Button>
      </div>
    );
  }
  const tools = capabilities.filter(({ kind }) => kind === "tool");
  const suggestions = tools.map(({ name, description, available }) => ({
    value: name,
    detail: available ? description : `${description} (not available now)`,
  }));
  const hint = (
    <>
      A JSON object. Texts in it may contain placeholders; the reply may contain <code>{"{{result}}"}</code>.
    </>
  );
  return (
    <fieldset className="stack-s" aria-label="Tool call" id={controlId(`${pointer}/call`)} tabIndex={-1}>
      <SuggestField
        pointer={`${pointer}/call/tool`}
        label="Tool that is called before the reply"
        placeholder="One of the agent's tools"
        suggestions={suggestions}
      />
      <JsonField pointer={`${pointer}/call/arguments`} label="Arguments" placeholder={'{"expression": "{{capture.1}}"}'} hint={hint} />
      <div>
        <Button className="small-button" onClick={() => set(undefined)}>
          Call no tool
        </Button>
      </div>
    </fieldset>
  );
};
