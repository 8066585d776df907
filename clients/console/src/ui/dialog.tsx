import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog } from "@base-ui/react/dialog";
import { type ReactNode, useState } from "react";
import { useSessions } from "../session/session.js";
import { Button } from "./button.js";
import { ErrorNotice } from "./notice.js";

interface ModalProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** Stays open on Escape and on clicks beside it. */
  isPersistent?: boolean;
}

/** A dialog that is open while it is rendered, except while the user has to sign in again. */
export const Modal = ({ title, onClose, children, isPersistent = false }: ModalProps) => {
  const { isAsking } = useSessions();
  return (
    <Dialog.Root open={!isAsking} onOpenChange={(isOpen) => !isOpen && !isPersistent && onClose()} disablePointerDismissal>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{title}</Dialog.Title>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
};

interface ConfirmProps {
  title: string;
  action: string;
  children: ReactNode;
  onConfirm: () => unknown;
  onClose: () => void;
}

/** Asks before an action that cannot be undone, and shows why it has failed. */
export const Confirm = ({ title, action, children, onConfirm, onClose }: ConfirmProps) => {
  const { isAsking } = useSessions();
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const confirm = async () => {
    setIsBusy(true);
    try {
      await onConfirm();
      onClose();
    } catch (caught) {
      setError(caught);
      setIsBusy(false);
    }
  };
  return (
    <AlertDialog.Root open={!isAsking} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title className="dialog-title">{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div className="stack-s" />}>{children}</AlertDialog.Description>
          {error !== undefined && <ErrorNotice error={error} />}
          <div className="dialog-actions">
            <AlertDialog.Close render={<Button />}>Cancel</AlertDialog.Close>
            <Button kind="danger" disabled={isBusy} onClick={() => void confirm()}>
              {action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
};
