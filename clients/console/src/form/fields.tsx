import { Field } from "@base-ui/react/field";
import type { ReactElement, ReactNode } from "react";
import { controlId, useField } from "./form.js";
import type { Json } from "./json-pointer.js";

interface LabelledProps {
  pointer: string;
  label: string;
  hint?: ReactNode;
  /** Shows the faults of the members, too. */
  isWhole?: boolean;
  children: ReactElement | ReactElement[];
}

/** A control with its label, its hint and the service's faults. */
export const Labelled = ({ pointer, label, hint, isWhole = false, children }: LabelledProps) => {
  const { faults } = useField(pointer, isWhole);
  return (
    <Field.Root className="field" invalid={faults.length > 0}>
      <Field.Label htmlFor={controlId(pointer)}>{label}</Field.Label>
      {children}
      {hint !== undefined && <Field.Description className="hint">{hint}</Field.Description>}
      {faults.length > 0 && (
        <Field.Error className="fault" match>
          {faults.join(" ")}
        </Field.Error>
      )}
    </Field.Root>
  );
};

export interface FieldProps {
  pointer: string;
  label: string;
  hint?: ReactNode;
  placeholder?: string;
  isRequired?: boolean;
  isMono?: boolean;
  /** Lines of a larger text. */
  rows?: number;
}

const textOf = (value: Json | undefined): string => (["string", "number"].includes(typeof value) ? String(value) : "");

export const TextField = ({ pointer, label, hint, rows, placeholder, isRequired = false, isMono = false }: FieldProps) => {
  const { value, set } = useField(pointer);
  return (
    <Labelled pointer={pointer} label={label} hint={hint}>
      <Field.Control
        id={controlId(pointer)}
        className={`input ${isMono ? "mono" : ""}`}
        value={textOf(value)}
        onValueChange={(text) => set(text === "" && !isRequired ? undefined : text)}
        spellCheck={!isMono}
        {...(isMono ? {} : { dir: "auto" })}
        {...(placeholder === undefined ? {} : { placeholder })}
        {...(isRequired ? { "aria-required": true } : {})}
        {...(rows === undefined ? {} : { render: <textarea rows={rows} /> })}
      />
    </Labelled>
  );
};

/** A number. Other text is kept as it is, and the service reports it. */
export const NumberField = ({ pointer, label, hint, placeholder }: FieldProps) => {
  const { value, set } = useField(pointer);
  return (
    <Labelled pointer={pointer} label={label} hint={hint}>
      <Field.Control
        id={controlId(pointer)}
        className="input"
        inputMode="decimal"
        autoComplete="off"
        value={textOf(value)}
        onValueChange={(text) => set(text === "" ? undefined : /^-?\d+(\.\d*[1-9])?$/.test(text) ? Number(text) : text)}
        {...(placeholder === undefined ? {} : { placeholder })}
      />
    </Labelled>
  );
};

interface SelectFieldProps extends FieldProps {
  /** The values with their texts; the empty value stands for none. */
  options: readonly (readonly [value: string, text: string])[];
  /** The values that do not fit other fields. */
  excluded?: readonly string[];
}

export const SelectField = ({ pointer, label, hint, options, excluded = [] }: SelectFieldProps) => {
  const { value, set } = useField(pointer);
  const selected = textOf(value);
  const isKnown = options.some(([known]) => known === selected);
  return (
    <Labelled pointer={pointer} label={label} hint={hint}>
      <Field.Control
        className="input"
        render={
          <select
            id={controlId(pointer)}
            value={selected}
            onChange={(event) => set(event.target.value === "" ? undefined : event.target.value)}
          >
            {!isKnown && <option value={selected}>{selected} (unknown)</option>}
            {options.map(([known, text]) => (
              <option key={known} value={known} disabled={excluded.includes(known) && known !== selected}>
                {text}
              </option>
            ))}
          </select>
        }
      />
    </Labelled>
  );
};

interface SwitchFieldProps {
  pointer: string;
  label: string;
  hint: string;
  /** The value that is stored if it is chosen; otherwise the member is absent. */
  chosen?: Json;
}

/**
 * A member that has another value than by default, false unless `chosen`, if this is chosen. If `chosen` is an object, any
 * value counts as chosen.
 */
export const SwitchField = ({ pointer, label, hint, chosen = false }: SwitchFieldProps) => {
  const { value, set, faults } = useField(pointer);
  const id = controlId(pointer);
  const isChosen = typeof chosen === "object" ? value !== undefined : value === chosen;
  return (
    <div className="field">
      <label className="check">
        <input
          id={id}
          type="checkbox"
          checked={isChosen}
          onChange={(event) => set(event.target.checked ? chosen : undefined)}
          aria-describedby={`${id}-hint`}
        />
        {label}
      </label>
      <p className="hint" id={`${id}-hint`}>
        {hint}
      </p>
      {faults.length > 0 && <p className="fault">{faults.join(" ")}</p>}
    </div>
  );
};
