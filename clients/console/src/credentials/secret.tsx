import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy.js";
import { Modal } from "../ui/dialog.js";
import type { Kind, WithSecret } from "./kinds.js";

/** Shows a secret for the only time. */
export const SecretDialog = ({ kind, credential, onClose }: { kind: Kind; credential: WithSecret; onClose: () => void }) => (
  <Modal title={`The secret of “${credential.name}”`} onClose={onClose} isPersistent>
    <div className="stack">
      <p className="notice warn">Copy it now: it is shown only once. Close this with “I have copied it”.</p>
      {kind.id === "clients" && (
        <div className="field">
          <label htmlFor="client-id">Client id</label>
          <div className="row secret">
            <input id="client-id" className="input mono" readOnly value={credential.id} />
            <CopyButton text={() => credential.id} what="Copy the client id" />
          </div>
        </div>
      )}
      <div className="field">
        <label htmlFor="secret">Secret</label>
        <div className="row secret">
          <input id="secret" className="input mono" readOnly value={credential.secret} onFocus={(event) => event.target.select()} />
          <CopyButton text={() => credential.secret ?? ""} what="Copy the secret" />
        </div>
      </div>
      <div className="dialog-actions">
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </div>
  </Modal>
);
