import { NumberField, SelectField, SwitchField, TextField } from "../form/fields.js";
import type { Json } from "../form/json-pointer.js";
import { JsonField } from "../form/parsed-field.js";
import { TagsField } from "../form/pickers.js";
import { useCatalogue } from "./catalogue.js";
import { Conversations } from "./conversations.js";
import { EngineFields } from "./engine-fields.js";
import { MetadataField } from "./metadata.js";
import { Profile } from "./profile.js";
import { RuleEditor } from "./rules.js";
import { ToolEditor } from "./tools.js";

const Basics = () => {
  const { capabilities } = useCatalogue();
  const suggestions = capabilities.map(({ name, description, available }) => ({
    value: name,
    detail: available ? description : `${description} (not available now)`,
  }));
  return (
    <section className="card stack">
      <h2>Basics</h2>
      <TextField pointer="/name" label="Name" isRequired />
      <TextField pointer="/personality" label="Personality" rows={3} hint="Part of every prompt; rules can insert it." />
      <TagsField
        pointer="/capabilities"
        label="Capabilities and tools"
        suggestions={suggestions}
        placeholder="Choose tools, or type others"
        hint="The name of a tool or tool server gives the agent that tool; any other name describes it."
      />
    </section>
  );
};

/** The text of a fallback: the name of an engine, or this and a model. */
const fallbackText = (fallback: Json): string => {
  if (typeof fallback === "string") return fallback;
  const { engine, model } = fallback as { engine?: Json; model?: Json };
  return typeof engine === "string" && typeof model === "string" ? `${engine}: ${model}` : JSON.stringify(fallback);
};

/** The fallback of a text. */
const fallbackOf = (text: string, engines: readonly { name: string }[]): Json => {
  if (text.startsWith("{")) {
    try {
      return JSON.parse(text) as Json;
    } catch {
      return text;
    }
  }
  const at = engines.some(({ name }) => name === text) ? -1 : text.indexOf(": ");
  return at < 0 ? text : { engine: text.slice(0, at), model: text.slice(at + 2) };
};

const Replies = () => {
  const { engines } = useCatalogue();
  const usual = engines.find((engine) => engine.default);
  return (
    <section className="card stack">
      <h2>Replies</h2>
      <EngineFields
        engine="/engine"
        model="/llm/model"
        usual={usual}
        unset={[usual === undefined ? "Default" : `Default (${usual.name})`, "The operator’s"]}
      />
      <TagsField
        pointer="/fallbacks"
        label="Fallbacks"
        isClosed
        read={fallbackText}
        write={(item) => fallbackOf(item, engines)}
        suggestions={engines.flatMap((known) => {
          const detail = known.available ? undefined : "not available now";
          const models = known.models ?? [];
          return [known.name, ...models.map((model) => fallbackText({ engine: known.name, model }))].map((value) => ({ value, detail }));
        })}
        placeholder="None"
        hint="Engines that answer, in this order, if the one before has failed: with the operator’s model, or with the one after the colon."
      />
      <TextField pointer="/instructions" label="Instructions" rows={4} hint="An additional system prompt for language models." />
      <TextField pointer="/greeting" label="Greeting" rows={2} hint="The first message of a conversation that is created empty." />
    </section>
  );
};

const EFFORTS = ["none", "minimal", "low", "medium", "high"];

const Parameters = () => (
  <details className="card">
    <summary>
      <h2>Parameters</h2>
    </summary>
    <div className="stack">
      <div className="columns">
        <NumberField pointer="/llm/temperature" label="Temperature" placeholder="The model’s" />
        <NumberField pointer="/llm/topP" label="Top P" placeholder="The model’s" />
        <NumberField pointer="/llm/maxOutputTokens" label="Output tokens" placeholder="The model’s" />
        <NumberField pointer="/llm/seed" label="Seed" placeholder="None" />
      </div>
      <div className="columns">
        <TagsField pointer="/llm/stop" label="Stop texts" suggestions={[]} placeholder="None" />
        <SwitchField
          pointer="/llm/systemRole"
          label="No system message"
          hint="The user’s first message contains personality and instructions. Some models, such as Gemma 2, need it."
        />
      </div>
      <div className="columns">
        <SelectField
          pointer="/llm/reasoningEffort"
          label="Reasoning effort"
          options={[["", "The model’s"], ...EFFORTS.map((effort) => [effort, effort] as const)]}
        />
        <SelectField
          pointer="/llm/showReasoning"
          label="Reasoning is shown to"
          options={[
            ["", "Default (nobody)"],
            ["never", "Nobody"],
            ["staff", "Staff"],
            ["everyone", "Everyone"],
          ]}
        />
      </div>
      <div className="columns">
        <JsonField
          pointer="/llm/extraBody"
          label="Further members of requests"
          placeholder="None"
          hint="A JSON object, with members that the operator permits."
        />
        <JsonField
          pointer="/responseSchema"
          label="Schema of replies"
          placeholder="None"
          hint="The JSON Schema of replies, which then are JSON. A chat can have another one."
        />
      </div>
      <div className="columns">
        <NumberField pointer="/history/maxMessages" label="Messages of history" placeholder="40" />
        <NumberField pointer="/history/maxCharacters" label="Characters of history" placeholder="48000" />
        <NumberField pointer="/timeoutMs" label="Timeout in milliseconds" placeholder="60000" />
      </div>
      <SwitchField
        pointer="/history/toolResults"
        label="No tool calls of earlier turns"
        hint="The model sees of earlier turns only the texts. It still learns which calls have acted without a reply."
      />
      <MetadataField pointer="/metadata" label="Metadata" hint="For your own use; the service only stores it." />
    </div>
  </details>
);

/** All fields of an agent. */
export const AgentFields = ({ agentId }: { agentId?: string }) => (
  <>
    <Basics />
    <Replies />
    <ToolEditor />
    <RuleEditor {...(agentId === undefined ? {} : { agentId })} />
    <Profile />
    <Conversations />
    <Parameters />
  </>
);
