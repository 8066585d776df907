import { Field } from "@base-ui/react/field";
import { useState } from "react";
import { type FieldProps, Labelled } from "../form/fields.js";
import { controlId, useField } from "../form/form.js";
import type { Json } from "../form/json-pointer.js";
import { SuggestField } from "../form/pickers.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { useCatalogue } from "./fields.js";

/** Returns the value of a JSON text, or the text, which the service reports, if it is none. */
const parsed = (text: string): Json | undefined => {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
};

/** A value as JSON text. */
const JsonField = ({ pointer, label, hint, placeholder }: FieldProps) => {
  const { value, set } = useField(pointer);
  const [edited, setEdited] = useState("");
  // Otherwise the document has changed elsewhere, such as by discarding changes.
  const isSame = JSON.stringify(parsed(edited)) === JSON.stringify(value);
  const stored = value === undefined || typeof value === "string" ? (value ?? "") : JSON.stringify(value, null, 2);
  return (
    <Labelled pointer={pointer} label={label} hint={hint} isWhole>
      <Field.Control
        id={controlId(pointer)}
        className="input mono"
        value={isSame ? edited : stored}
        onValueChange={(text) => {
          setEdited(text);
          set(parsed(text));
        }}
        spellCheck={false}
        placeholder={placeholder}
        render={<textarea rows={3} />}
      />
    </Labelled>
  );
};

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
