import { useState } from "react";
import { controlId, useField } from "../form/form.js";
import { Button, IconButton } from "../ui/button.js";
import { Icon } from "../ui/icon.js";

type Pair = readonly [name: string, text: string];

const pairsOf = (rows: readonly Pair[]): Record<string, string> => Object.fromEntries(rows.filter(([name]) => name !== ""));

interface MetadataFieldProps {
  pointer: string;
  label: string;
  hint: string;
}

/** Pairs of strings. Names are edited here, because the document has no place for two equal ones. */
export const MetadataField = ({ pointer, label, hint }: MetadataFieldProps) => {
  const { value, set, faults } = useField(pointer, true);
  const stored = Object.entries(typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});
  const [edited, setRows] = useState<Pair[]>([]);
  // The document has changed elsewhere, such as by discarding changes.
  const isSame = JSON.stringify(pairsOf(edited)) === JSON.stringify(Object.fromEntries(stored));
  const rows = isSame ? edited : stored.map(([name, text]): Pair => [name, String(text)]);
  const change = (changed: Pair[]) => {
    setRows(changed);
    const pairs = pairsOf(changed);
    set(Object.keys(pairs).length === 0 ? undefined : pairs);
  };
  return (
    <fieldset className="field" id={controlId(pointer)} tabIndex={-1}>
      <legend>{label}</legend>
      {rows.map(([name, text], index) => (
        <div className="pair" key={index}>
          <input
            className="input"
            aria-label={`Name ${index + 1}`}
            placeholder="Name"
            value={name}
            onChange={(event) => change(rows.with(index, [event.target.value, text]))}
          />
          <input
            className="input"
            aria-label={`Value ${index + 1}`}
            placeholder="Value"
            dir="auto"
            value={text}
            onChange={(event) => change(rows.with(index, [name, event.target.value]))}
          />
          <IconButton label={`Remove ${name || `pair ${index + 1}`}`} onClick={() => change(rows.toSpliced(index, 1))}>
            <Icon name="close" />
          </IconButton>
        </div>
      ))}
      <div>
        <Button onClick={() => change([...rows, ["", ""]])}>
          <Icon name="plus" /> Add a pair
        </Button>
      </div>
      <p className="hint">{hint}</p>
      {faults.length > 0 && <p className="fault">{faults.join(" ")}</p>}
    </fieldset>
  );
};
