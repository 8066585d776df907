import { controlId, useField } from "../form/form.js";
import { PRESETS, SCOPES, type Scope } from "../session/scopes.js";
import { useSession } from "../session/session.js";
import { Button } from "../ui/button.js";

interface ChoiceProps {
  scope: Scope;
  isChosen: boolean;
  onChange: (isChosen: boolean) => void;
}

const Choice = ({ scope, isChosen, onChange }: ChoiceProps) => (
  <label className="check">
    <input type="checkbox" checked={isChosen} onChange={(event) => onChange(event.target.checked)} />
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
  /** Returns those scopes that one has oneself, in the order of the list. */
  const owned = (scopes: readonly string[]) => principal.scopes.filter((scope) => scopes.includes(scope));
  const presets = PRESETS.map(({ name, scopes = principal.scopes }) => ({ name, scopes, ownedScopes: owned(scopes) }));
  const preset = chosen.length === 0 ? undefined : presets.find(({ ownedScopes }) => ownedScopes.join() === owned(chosen).join());
  const missing = preset?.scopes.filter((scope) => !principal.scopes.includes(scope)) ?? [];
  return (
    <fieldset className="field" id={controlId("/scopes")} tabIndex={-1}>
      <legend>Scopes</legend>
      <div className="row" role="group" aria-label="Usual selections">
        {presets.map(({ name, ownedScopes }) => (
          <Button key={name} className="small-button choice" aria-pressed={preset?.name === name} onClick={() => set(ownedScopes)}>
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
            onChange={(isAdded) => set(owned(isAdded ? [...chosen, scope] : chosen.filter((known) => known !== scope)))}
          />
        ))}
      </div>
      <p className="hint">Only scopes that you have yourself.</p>
      {faults.length > 0 && <p className="fault">{faults.join(" ")}</p>}
    </fieldset>
  );
};
