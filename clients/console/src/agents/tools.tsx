import { NumberField, SelectField, SwitchField, TextField } from "../form/fields.js";
import { controlId, useField } from "../form/form.js";
import type { Json } from "../form/json-pointer.js";
import { JsonField } from "../form/parsed-field.js";
import { SuggestField } from "../form/pickers.js";
import { Button, IconButton } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { useCatalogue } from "./catalogue.js";

const APPROVALS = [
  ["", "Default (if it can change something)"],
  ["destructive", "If it can change something"],
  ["always", "Always"],
  ["never", "Never"],
] as const;

const APPROVERS = [
  ["", "Default (the user)"],
  ["user", "The user"],
  ["staff", "Staff, in Approvals"],
] as const;

const VISIBILITIES = [
  ["", "Default (status, or all that they must approve)"],
  ["full", "Everything"],
  ["status", "Name, status and times"],
  ["none", "Nothing"],
] as const;

const PAGE_VISIBILITIES = [["", "Default (everything)"], ...VISIBILITIES.slice(1)] as const;

const isPageTool = (tool: Json | undefined): boolean =>
  typeof tool === "object" && tool !== null && !Array.isArray(tool) && tool.run === "client";

const NEW_PAGE_TOOL = { name: "", run: "client", description: "", parameters: { type: "object", properties: {} } };

/** Returns the values that the service would reject: users see what they must approve. */
const excludedBy = (tool: Json | undefined) => {
  const { approval, approver, visibility } = (tool ?? {}) as Record<string, Json>;
  const isByUser = approver !== "staff";
  const isAsked = approval === "always" || approval === "destructive";
  const isHidden = visibility === "none";
  return {
    approval: isHidden && isByUser ? ["always", "destructive"] : [],
    approver: isHidden && isAsked ? ["", "user"] : [],
    visibility: isAsked && isByUser ? ["none"] : [],
  };
};

/** A tool that the service calls, once the user or staff has approved it if that is necessary. */
const ServerTool = ({ pointer }: { pointer: string }) => {
  const { capabilities } = useCatalogue();
  const { value } = useField(pointer);
  const excluded = excludedBy(value);
  const isLimited = Object.values(excluded).some((values) => values.length > 0);
  const suggestions = capabilities.map(({ name, kind, description, available }) => ({
    value: kind === "server" ? `${name}/*` : name,
    detail: available ? description : `${description} (not available now)`,
  }));
  return (
    <div className="columns">
      <SuggestField pointer={`${pointer}/name`} label="Tool" placeholder="server/tool or server/*" suggestions={suggestions} />
      <SelectField pointer={`${pointer}/approval`} label="Calls need approval" options={APPROVALS} excluded={excluded.approval} />
      <SelectField pointer={`${pointer}/approver`} label="Approved by" options={APPROVERS} excluded={excluded.approver} />
      <SelectField
        pointer={`${pointer}/visibility`}
        label="Users see"
        options={VISIBILITIES}
        excluded={excluded.visibility}
        {...(isLimited ? { hint: "Users see what they must approve. Only staff can approve what they do not see." } : {})}
      />
      <NumberField pointer={`${pointer}/timeoutMs`} label="Time limit in milliseconds" placeholder="15000" />
    </div>
  );
};

/** A tool that the page of the user has. */
const PageTool = ({ pointer }: { pointer: string }) => (
  <>
    <div className="columns">
      <TextField pointer={`${pointer}/name`} label="Tool of the page" placeholder="open_cart" isRequired isMono />
      <TextField pointer={`${pointer}/description`} label="Description, for the model" isRequired />
    </div>
    <JsonField pointer={`${pointer}/parameters`} label="Arguments, as a JSON schema" rows={5} />
    <SelectField pointer={`${pointer}/visibility`} label="Users see" options={PAGE_VISIBILITIES} />
  </>
);

const ToolEntry = ({ index, onRemove }: { index: number; onRemove: () => void }) => {
  const pointer = `/tools/${index}`;
  const { value, faults } = useField(pointer);
  return (
    <fieldset className="tool-entry" aria-label={`Tool ${index + 1}`} id={controlId(pointer)} tabIndex={-1}>
      <div className="stack-s">
        {isPageTool(value) ? <PageTool pointer={pointer} /> : <ServerTool pointer={pointer} />}
        {faults.length > 0 && <p className="fault">{faults.join(" ")}</p>}
      </div>
      <IconButton label={`Remove tool ${index + 1}`} onClick={onRemove}>
        <Icon name="trash" size={16} />
      </IconButton>
    </fieldset>
  );
};

/** The tools of an agent, with who approves their calls, what users see of them, and their limits. */
export const ToolEditor = () => {
  const { value, set, faults } = useField("/tools");
  const tools = Array.isArray(value) ? value : [];
  const remove = (index: number) => {
    const others = tools.toSpliced(index, 1);
    set(others.length === 0 ? undefined : others);
  };
  return (
    <section className="card stack">
      <div>
        <h2>Tools</h2>
        <p className="muted">
          Tools with settings of their own. Keys and colleagues see all calls, whatever users see. A tool of the page is a function that the
          page of the user registers; the agent waits for what it returns.
        </p>
      </div>
      <div className="stack" id="field-tools" tabIndex={-1}>
        {tools.map((_, index) => (
          <ToolEntry key={index} index={index} onRemove={() => remove(index)} />
        ))}
        {faults.length > 0 && <p className="fault">{faults.join(" ")}</p>}
        <div className="row">
          <Button onClick={() => set([...tools, { name: "" }])}>
            <Icon name="plus" /> Add a tool
          </Button>
          <Button onClick={() => set([...tools, NEW_PAGE_TOOL])}>
            <Icon name="plus" /> Add a tool of the page
          </Button>
        </div>
      </div>
      <div className="columns">
        <NumberField pointer="/maxToolRounds" label="Rounds of tool calls in a turn" placeholder="8" />
        <NumberField pointer="/maxToolCalls" label="Tool calls in a turn" placeholder="16" />
        <NumberField pointer="/actionTimeoutSeconds" label="Seconds to wait for an answer" placeholder="604800" />
      </div>
      <SwitchField
        pointer="/allowClientTools"
        chosen
        label="Users may add tools"
        hint="Their pages send them with a message (clientTools). Keys and OAuth clients always may."
      />
      <SwitchField
        pointer="/allowUnrecorded"
        chosen
        label="Users may send unrecorded chats"
        hint="Nothing of them is stored, and only tools that change nothing run. Keys and OAuth clients always may."
      />
    </section>
  );
};
