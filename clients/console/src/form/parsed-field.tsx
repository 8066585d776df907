import { Field } from "@base-ui/react/field";
import { useState } from "react";
import { type FieldProps, Labelled } from "./fields.js";
import { controlId, useField } from "./form.js";
import type { Json } from "./json-pointer.js";

interface ParsedFieldProps extends FieldProps {
  /** Returns the value of a text. */
  read: (text: string) => Json | undefined;
  /** Returns the text of a value. */
  write: (value: Json) => string;
}

/** A value as text, which stays as it was typed as long as it stands for the value. */
const ParsedField = ({ pointer, label, hint, placeholder, rows = 3, isMono = false, read, write }: ParsedFieldProps) => {
  const { value, set } = useField(pointer);
  const [edited, setEdited] = useState("");
  // Otherwise the document has changed elsewhere, such as by discarding changes.
  const isSame = JSON.stringify(read(edited)) === JSON.stringify(value);
  const stored = value === undefined || typeof value === "string" ? (value ?? "") : write(value);
  return (
    <Labelled pointer={pointer} label={label} hint={hint} isWhole>
      <Field.Control
        id={controlId(pointer)}
        className={`input ${isMono ? "mono" : ""}`}
        value={isSame ? edited : stored}
        onValueChange={(text) => {
          setEdited(text);
          set(read(text));
        }}
        spellCheck={!isMono}
        {...(isMono ? {} : { dir: "auto" })}
        placeholder={placeholder}
        render={<textarea rows={rows} />}
      />
    </Labelled>
  );
};

/** Returns the value of a JSON text, or the text, which the service reports, if it is none or that of a string. */
const readJson = (text: string): Json | undefined => {
  if (text.trim() === "") return undefined;
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === "string" ? text : value;
  } catch {
    return text;
  }
};

/** A value other than a string, as JSON text. */
export const JsonField = (props: FieldProps) => (
  <ParsedField {...props} isMono read={readJson} write={(value) => JSON.stringify(value, null, 2)} />
);

const readLines = (text: string): Json | undefined => {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.length === 0 ? undefined : lines;
};

/** A list of texts, one a line. */
export const LinesField = (props: FieldProps) => (
  <ParsedField {...props} read={readLines} write={(value) => (Array.isArray(value) ? value.join("\n") : JSON.stringify(value))} />
);
