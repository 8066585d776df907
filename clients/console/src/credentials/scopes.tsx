import { controlId, useField } from "../form/form.js";
import { PRESETS, SCOPES } from "../session/scopes.js";
import { type Scope, useSession } from "../session/session.js";
import { Button } from "../ui/button.js";

interface ChoiceProps {
  scope: Scope;
  isChosen: boolean;
  onChange: (isChosen: boolean) => void;
}

const Choice = ({ scope, isChosen, onChange }: ChoiceProps) => (
  <label className="check">
    <input
      type="checkbox"
      checked={isChosen}
      onChange={(event) => onChange(event.target.checked)}
      onKeyDown={(event) => {
        if (event.key !== "Enter") return;
        // It would send the form.
        event.preventDefault();
        event.currentTarget.click();
      }}
    />
    <span>
      <span className="mono">{scope}</span>
      <span className="hint">{SCOPES[scope]}</span>
    </span>
  </label>
);

/** The scopes of a credential: usual selections, and each by itself. */
export const ScopesField = () => {
  const { principal } = useSession();
  const { value, set, faults } = useField("/scopes", true);
  const chosen = Array.isArray(value) ? value.map(String) : [];
  const possible = (scopes: readonly string[] = principal.scopes) => principal.scopes.filter((scope) => scopes.includes(scope));
  const preset = chosen.length === 0 ? undefined : PRESETS.find(({ scopes }) => possible(scopes).join() === possible(chosen).join());
  const missing = preset?.scopes?.filter((scope) => !principal.scopes.includes(scope)) ?? [];
  return (
    <fieldset className="field" id={controlId("/scopes")} tabIndex={-1}>
      <legend>Scopes</legend>
      <div className="row" role="group" aria-label="Usual selections">
        {PRESETS.map(({ name, scopes }) => (
          <Button key={name} className="small-button choice" aria-pressed={preset?.name === name} onClick={() => set(possible(scopes))}>
            {name}
          </Button>
        ))}
      </div>
      {missing.length > 0 && (
        <p className="hint" role="status">
          Without {missing.join(", ")}, which you do not have yourself.
        </p>
      )}
      <div className="scopes">
        {principal.scopes.map((scope) => (
          <Choice
            key={scope}
            scope={scope}
            isChosen={chosen.includes(scope)}
            onChange={(isAdded) => set(possible(isAdded ? [...chosen, scope] : chosen.filter((known) => known !== scope)))}
          />
        ))}
      </div>
      <p className="hint">Only scopes that you have yourself.</p>
      {faults.length > 0 && <p className="fault">{faults.join(" ")}</p>}
    </fieldset>
  );
};
