import { useRef } from "react";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";

/** A button that lets the user choose files. */
export const AttachButton = ({ onFiles }: { onFiles: (files: File[]) => void }) => {
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          // The same file can be chosen again.
          target.value = "";
        }}
      />
      <Button onClick={() => chooser.current?.click()}>
        <Icon name="attach" /> <span>Attach</span>
      </Button>
    </>
  );
};
