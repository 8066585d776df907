import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type KeyboardEvent, type RefObject, useState } from "react";
import { AttachButton } from "../files/attach-button.js";
import { AttachmentList } from "../files/attachment-list.js";
import { useAttachments } from "../files/use-attachments.js";
import { useFileDrop } from "../files/use-file-drop.js";
import { useScope, useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { ErrorNotice } from "../ui/notice.js";
import { useSlash } from "../ui/use-slash.js";

interface StaffMessageProps {
  conversationId: string;
  /** The field of the page that `/` focuses. */
  field: RefObject<HTMLTextAreaElement | null>;
  name: string;
  onName: (name: string) => void;
  /** Called for each change of the text. */
  onTyping: (isTyping: boolean) => void;
}

/** The message that a member of staff writes in place of the agent, and the name below which it appears. */
export const StaffMessage = ({ conversationId, field, name, onName, onTyping }: StaffMessageProps) => {
  const { service } = useSession();
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const attached = useAttachments();
  const mayAttach = useScope("chat:write");
  useFileDrop((files) => mayAttach && attached.add(files));
  useSlash(field, true);
  const change = (changed: string) => {
    setText(changed);
    onTyping(changed !== "");
  };
  const write = useMutation({
    mutationFn: (content: string) => {
      const author = name.trim();
      const more = { ...(author !== "" && { author: { name: author } }), files: attached.ids };
      return service.conversations.writeMessage(conversationId, { content, ...more });
    },
    onSuccess: () => {
      change("");
      attached.take();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["conversation", conversationId] }),
  });
  const isEmpty = text.trim() === "" && attached.attachments.length === 0;
  const canSend = !isEmpty && attached.isReady;
  const send = (event: FormEvent | KeyboardEvent) => {
    event.preventDefault();
    if (canSend && !write.isPending) write.mutate(text);
  };
  return (
    <>
      {write.isError && <ErrorNotice error={write.error} />}
      <form className="composer" onSubmit={send}>
        <label className="visually-hidden" htmlFor="author">
          Your name
        </label>
        <input
          id="author"
          className="input desk-author"
          maxLength={128}
          placeholder="Your name"
          value={name}
          onChange={(event) => onName(event.target.value)}
        />
        <AttachmentList {...attached} />
        {mayAttach && <AttachButton onFiles={attached.add} />}
        <label className="visually-hidden" htmlFor="staff-message">
          Message to the user
        </label>
        <textarea
          id="staff-message"
          ref={field}
          aria-keyshortcuts="/"
          className="input"
          rows={1}
          dir="auto"
          maxLength={32_000}
          placeholder="Write to the user"
          value={text}
          onChange={(event) => change(event.target.value)}
          {...(mayAttach && { onPaste: attached.paste })}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) send(event);
          }}
        />
        <Button kind="primary" type="submit" aria-disabled={!canSend || write.isPending}>
          <Icon name="send" /> <span>Send</span>
        </Button>
      </form>
    </>
  );
};
