import { Field } from "@base-ui/react/field";
import { useState } from "react";
import { type FieldProps, Labelled } from "./fields.js";
import { controlId, useField } from "./form.js";
import type { Json } from "./json-pointer.js";

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
export const JsonField = ({ pointer, label, hint, placeholder, rows = 3 }: FieldProps) => {
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
        render={<textarea rows={rows} />}
      />
    </Labelled>
  );
};
