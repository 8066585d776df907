import { useState } from "react";
import { useField } from "../form/form.js";
import { Button, IconButton } from "../ui/button.js";
import { Icon } from "../ui/icon.js";

/** Pairs of strings. Names are edited here, because the document has no place for two equal ones. */
export const MetadataField = () => {
  const { value, set, faults } = useField("/metadata", true);
  const stored = Object.entries(typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});
  const [rows, setRows] = useState(() => stored.map(([name, text]) => [name, String(text)] as const));
  const change = (changed: (readonly [string, string])[]) => {
    setRows(changed);
    const named = changed.filter(([name]) => name !== "");
    set(named.length === 0 ? undefined : Object.fromEntries(named));
  };
  return (
    <fieldset className="field" id="field-metadata" tabIndex={-1}>
      <legend>Metadata</legend>
      {rows.map(([name, text], index) => (
        <div className="pair" key={index}>
          <input className="input" aria-label={`Name ${index + 1}`} placeholder="Name" value={name} onChange={(event) => change(rows.with(index, [event.target.value, text]))} />
          <input className="input" aria-label={`Value ${index + 1}`} placeholder="Value" value={text} onChange={(event) => change(rows.with(index, [name, event.target.value]))} />
          <IconButton label={`Remove ${name || `pair ${index + 1}`}`} onClick={() => change(rows.toSpliced(index, 1))}>
            <Icon name="close" />
          </IconButton>
        </div>
      ))}
      <div>
        <Button onClick={() => setRows([...rows, ["", ""]])}>
          <Icon name="plus" /> Add a pair
        </Button>
      </div>
      <p className="hint">For your own use; the service only stores it.</p>
      {faults.length > 0 && <p className="fault">{faults.join(" ")}</p>}
    </fieldset>
  );
};
