import type { components } from "agent-service-client";
import { SelectField } from "../form/fields.js";
import { useField } from "../form/form.js";
import { SuggestField } from "../form/pickers.js";
import { useCatalogue } from "./catalogue.js";

interface EngineFieldsProps {
  /** The pointers of both. */
  engine: string;
  model: string;
  /** Added to their labels. */
  suffix?: string;
  /** The engine that is used if none is chosen. */
  usual: components["schemas"]["EngineEntry"] | undefined;
  /** The texts if none is chosen. */
  unset: readonly [engine: string, model: string];
}

/** The choice of an engine and of one of its models. */
export const EngineFields = ({ engine, model, suffix = "", usual, unset }: EngineFieldsProps) => {
  const { engines } = useCatalogue();
  const { value } = useField(engine);
  const chosen = engines.find(({ name }) => name === value) ?? usual;
  return (
    <div className="columns">
      <SelectField
        pointer={engine}
        label={`Engine${suffix}`}
        options={[
          ["", unset[0]],
          ...engines.map(({ name, available }) => [name, available ? name : `${name} (not available now)`] as const),
        ]}
      />
      <SuggestField
        pointer={model}
        label={`Model${suffix}`}
        placeholder={unset[1]}
        suggestions={(chosen?.models ?? []).map((name) => ({ value: name }))}
        hint={chosen?.models === undefined ? "The engine lists no models." : `${chosen.models.length} known to ${chosen.name}.`}
      />
    </div>
  );
};
