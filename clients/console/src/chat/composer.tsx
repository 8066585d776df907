import { AttachButton } from "../files/attach-button.js";
import { AttachmentList } from "../files/attachment-list.js";
import type { Attachments } from "../files/use-attachments.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";

interface ComposerProps {
  text: string;
  onChange: (text: string) => void;
  files: Attachments;
  isBusy: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
}

/** The text and the files that are sent next. Enter sends them, Shift and Enter begin a line. */
export const Composer = ({ text, onChange, files, isBusy, onSend, onStop }: ComposerProps) => {
  const isEmpty = text.trim() === "" && files.attachments.length === 0;
  const canSend = !isEmpty && files.isReady;
  const send = () => {
    if (!canSend) return;
    onSend(text);
    onChange("");
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <AttachmentList {...files} />
      <AttachButton onFiles={files.add} />
      <label className="visually-hidden" htmlFor="message">
        Message
      </label>
      <textarea
        id="message"
        className="input"
        rows={1}
        dir="auto"
        autoFocus
        placeholder="Write a message"
        value={text}
        onChange={(event) => onChange(event.target.value)}
        onPaste={files.paste}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      {isBusy && (
        <Button onClick={onStop}>
          <Icon name="stop" /> <span>Stop</span>
        </Button>
      )}
      <Button kind="primary" type="submit" disabled={!canSend}>
        <Icon name="send" /> <span>Send</span>
      </Button>
    </form>
  );
};
