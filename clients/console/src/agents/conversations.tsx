import { SwitchField, TextField } from "../form/fields.js";
import { useField } from "../form/form.js";
import { useCatalogue } from "./catalogue.js";
import { EngineFields } from "./engine-fields.js";

const Titles = () => {
  const { engines } = useCatalogue();
  const { value: titles } = useField("/titles");
  const { value: engine } = useField("/engine");
  const { value: ownEngine } = useField("/titles/engine");
  const usual = engines.find(({ name, default: isDefault }) => (engine === undefined ? isDefault : name === engine));
  return (
    <>
      <SwitchField
        pointer="/titles"
        chosen={{}}
        label="A model writes titles"
        hint="Of conversations that have none, after the first reply. The rule engine writes none."
      />
      {titles !== undefined && (
        <EngineFields
          engine="/titles/engine"
          model="/titles/model"
          suffix=" of titles"
          usual={usual}
          unset={["The agent’s", ownEngine === undefined ? "The agent’s" : "The operator’s"]}
        />
      )}
    </>
  );
};

/** What happens to the conversations of an agent. */
export const Conversations = () => (
  <details className="card">
    <summary>
      <h2>Conversations</h2>
    </summary>
    <div className="stack">
      <TextField
        pointer="/retention"
        label="Kept for"
        placeholder="The operator’s time"
        hint="The time from the last message until a conversation is deleted, such as 30d, 12h or 90m. The operator’s holds if it is shorter."
      />
      <Titles />
      <SwitchField
        pointer="/allowHandOver"
        chosen
        label="Users may hand over to staff"
        hint="Their pages can ask for a person; from then on, staff replies in place of the agent."
      />
    </div>
  </details>
);
