import { randomId } from "agent-service-client";
import { useMemo, useState } from "react";
import { Button } from "../ui/button.js";
import { Modal } from "../ui/dialog.js";
import { ErrorNotice } from "../ui/notice.js";
import type { Credential, Kind, WithSecret } from "./kinds.js";

const OVERLAPS: readonly (readonly [seconds: number, label: string])[] = [
  [0, "End at once"],
  [3_600, "An hour"],
  [86_400, "A day"],
  [604_800, "A week"],
];

interface RotateDialogProps {
  kind: Kind;
  credential: Credential;
  onRotated: (credential: WithSecret) => void;
  onClose: () => void;
}

/** Replaces the secret of a credential. */
export const RotateDialog = ({ kind, credential, onRotated, onClose }: RotateDialogProps) => {
  const [overlap, setOverlap] = useState(86_400);
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each overlap has a key of its own.
  const idempotencyKey = useMemo(() => randomId(), [overlap]);
  const rotate = async () => {
    setIsBusy(true);
    try {
      onRotated(await kind.rotate(credential.id, overlap, { idempotencyKey }));
    } catch (caught) {
      setError(caught);
      setIsBusy(false);
    }
  };
  return (
    <Modal title={`Rotate “${credential.name}”`} onClose={onClose}>
      <div className="stack">
        <p>It keeps its id and scopes, and gets a new secret.</p>
        {error !== undefined && <ErrorNotice error={error} />}
        <label className="field">
          <span>The old secret stays valid for</span>
          <select className="input" value={overlap} onChange={(event) => setOverlap(Number(event.target.value))}>
            {OVERLAPS.map(([seconds, label]) => (
              <option key={seconds} value={seconds}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" disabled={isBusy} onClick={() => void rotate()}>
            Rotate
          </Button>
        </div>
      </div>
    </Modal>
  );
};
