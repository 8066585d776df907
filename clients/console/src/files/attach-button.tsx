import { useRef } from "react";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";

interface AttachButtonProps {
  onFiles: (files: File[]) => void;
  text?: string;
  /** Names the files. */
  label?: string;
}

/** A button that lets the user choose files. */
export const AttachButton = ({ onFiles, text = "Attach", label = "Files to attach" }: AttachButtonProps) => {
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        aria-label={label}
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          // The same file can be chosen again.
          target.value = "";
        }}
      />
      <Button onClick={() => chooser.current?.click()}>
        <Icon name="attach" /> <span>{text}</span>
      </Button>
    </>
  );
};
