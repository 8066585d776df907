import { randomId } from "agent-service-client";
import { useMemo, useState } from "react";
import { NumberField, TextField } from "../form/fields.js";
import { controlId, type Fault, FormError, faultsIn, JsonForm, useFaults, useField } from "../form/form.js";
import type { Json } from "../form/json-pointer.js";
import { TagsField } from "../form/pickers.js";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/dialog.js";
import type { Draft, Kind, WithSecret } from "./kinds.js";
import { ScopesField } from "./scopes.js";

const faultsInDraft = (error: unknown): Fault[] =>
  faultsIn(error).map((fault) =>
    fault.pointer === "/scopes" && fault.code === "too_short" ? { ...fault, detail: "Choose at least one scope." } : fault,
  );

const ExpiryField = () => {
  const { value, set, faults } = useField("/expiresAt");
  const id = controlId("/expiresAt");
  // The control shows local time, the service stores UTC.
  const local =
    typeof value === "string"
      ? new Date(new Date(value).getTime() - new Date(value).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
      : "";
  return (
    <div className="field">
      <label htmlFor={id}>Expires</label>
      <input
        id={id}
        className="input"
        type="datetime-local"
        value={local}
        onChange={(event) => set(event.target.value === "" ? undefined : new Date(event.target.value).toISOString())}
        aria-describedby={`${id}-hint`}
      />
      <p className="hint" id={`${id}-hint`}>
        Empty: never.
      </p>
      {faults.length > 0 && <p className="fault">{faults.join(" ")}</p>}
    </div>
  );
};

const Limits = () => (
  <details>
    <summary>Limits of its own</summary>
    <div className="columns">
      <NumberField pointer="/limits/requestsPerMinute" label="Requests a minute" placeholder="The server’s" />
      <NumberField pointer="/limits/requestsBurst" label="Requests at once" placeholder="The server’s" />
      <NumberField pointer="/limits/chatPerMinute" label="Chats a minute" placeholder="The server’s" />
      <NumberField pointer="/limits/chatBurst" label="Chats at once" placeholder="The server’s" />
      <NumberField pointer="/limits/streams" label="Open streams" placeholder="The server’s" />
      <NumberField pointer="/limits/filesPerDay" label="Files a day" placeholder="No limit" />
      <NumberField pointer="/limits/fileBytesPerDay" label="Bytes of files a day" placeholder="No limit" />
    </div>
  </details>
);

interface CreateDialogProps {
  kind: Kind;
  onCreated: (credential: WithSecret) => void;
  onClose: () => void;
}

export const CreateDialog = ({ kind, onCreated, onClose }: CreateDialogProps) => {
  const [draft, setDraft] = useState<Json>({ name: "", scopes: [] });
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  // A repeated attempt with the same draft creates one credential.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each draft has a key of its own.
  const idempotencyKey = useMemo(() => randomId(), [draft]);
  const faults = useFaults(error, draft, faultsInDraft);
  const submit = async () => {
    setIsBusy(true);
    setError(undefined);
    try {
      onCreated(await kind.create(draft as unknown as Draft, { idempotencyKey }));
    } catch (caught) {
      setError(caught);
      setIsBusy(false);
    }
  };
  return (
    <Modal title={`New ${kind.one}`} onClose={onClose}>
      <JsonForm document={draft} onChange={setDraft} faults={faults}>
        <form
          className="stack"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          <FormError error={error} faults={faults} />
          <TextField pointer="/name" label="Name" isRequired hint="For people: who or what uses it." />
          <ScopesField />
          <ExpiryField />
          {kind.id === "keys" ? (
            <TagsField
              pointer="/allowedOrigins"
              label="Browser origins"
              suggestions={[]}
              placeholder="Any"
              hint="The only pages that may use it, such as https://shop.example.org."
            />
          ) : (
            <TextField
              pointer="/jwksUri"
              label="Address of its public keys"
              isMono
              placeholder="https://client.example/jwks.json"
              hint="Empty: the client gets a secret."
            />
          )}
          <Limits />
          <div className="dialog-actions">
            <Button onClick={onClose}>Cancel</Button>
            <Button kind="primary" type="submit" disabled={isBusy}>
              Create
            </Button>
          </div>
        </form>
      </JsonForm>
    </Modal>
  );
};
