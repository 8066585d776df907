import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";

interface ComposerProps {
  text: string;
  onChange: (text: string) => void;
  isBusy: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
}

/** The text that is sent next. Enter sends it, Shift and Enter begin a line. */
export const Composer = ({ text, onChange, isBusy, onSend, onStop }: ComposerProps) => {
  const send = () => {
    if (text.trim() === "") return;
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
      <Button kind="primary" type="submit" disabled={text.trim() === ""}>
        <Icon name="send" /> <span>Send</span>
      </Button>
    </form>
  );
};
