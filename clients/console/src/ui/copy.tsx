import { Button, IconButton } from "./button.js";
import { Icon } from "./icon.js";
import { notify } from "./toast.js";

/** Copies a text. Pages without TLS have no clipboard, so there the text is selected and copied. */
const copy = async (text: string): Promise<void> => {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  // Inside the open dialog, which would take the focus back.
  (document.activeElement?.parentElement ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (!isCopied) throw new Error("the browser does not allow it");
};

const copyAndNotify = (text: string): void =>
  void copy(text).then(
    () => notify("Copied to the clipboard."),
    () => notify("Copying has failed: select the text instead."),
  );

export const CopyButton = ({ text, label = "Copy", what = label }: { text: () => string; label?: string; what?: string }) => (
  <Button className="small-button" aria-label={what} onClick={() => copyAndNotify(text())}>
    <Icon name="copy" size={16} /> {label}
  </Button>
);

/** A small button, of which screen readers and tooltips say what it copies. */
export const CopyIcon = ({ text, what }: { text: () => string; what: string }) => (
  <IconButton className="copy-icon" label={what} onClick={() => copyAndNotify(text())}>
    <Icon name="copy" size={14} />
  </IconButton>
);

/** An id, which is needed elsewhere. */
export const CopyableId = ({ id, of, more = "" }: { id: string; of: string; more?: string | undefined }) => (
  <span className="copyable">
    <span className="mono">
      {id} {more}
    </span>
    <CopyIcon text={() => id} what={`Copy the id of the ${of}`} />
  </span>
);
