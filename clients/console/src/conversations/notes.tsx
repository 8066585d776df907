import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { AttachButton } from "../files/attach-button.js";
import { AttachmentList } from "../files/attachment-list.js";
import { MessageFiles } from "../files/message-files.js";
import { useAttachments } from "../files/use-attachments.js";
import { useScope, useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { ErrorNotice } from "../ui/notice.js";
import { Time } from "../ui/time.js";

/** The number of notes that are shown. */
const SHOWN = 20;

/** What members of staff have noted about a conversation, and a field for another note by `author`. */
export const Notes = ({ conversationId, author }: { conversationId: string; author: string }) => {
  const { service } = useSession();
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const attached = useAttachments();
  const mayAttach = useScope("chat:write");
  const field = useRef<HTMLInputElement>(null);
  const queryKey = ["conversation", conversationId, "notes"];
  const notes = useQuery({ queryKey, queryFn: () => service.conversations.listNotes(conversationId, { limit: SHOWN }) });
  const onSettled = () => queries.invalidateQueries({ queryKey });
  const write = useMutation({
    mutationFn: (content: string) => {
      const more = { ...(author !== "" && { author: { name: author } }), files: attached.ids };
      return service.conversations.writeNote(conversationId, { content, ...more });
    },
    onSuccess: () => {
      setText("");
      attached.take();
    },
    onSettled,
  });
  const remove = useMutation({
    mutationFn: (id: string) => service.conversations.deleteNote(conversationId, id),
    // The button that had the focus is gone then.
    onSuccess: () => field.current?.focus(),
    onSettled,
  });
  const canSave = (text.trim() !== "" || attached.attachments.length > 0) && attached.isReady;
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (canSave && !write.isPending) write.mutate(text);
  };
  const error = notes.error ?? write.error ?? remove.error;
  const found = notes.data?.data ?? [];
  return (
    <details className="notes">
      <summary>Notes{found.length > 0 && ` (${found.length}${notes.data?.nextCursor == null ? "" : "+"})`}</summary>
      {error !== null && <ErrorNotice error={error} />}
      <form className="row" onSubmit={save}>
        <label className="visually-hidden" htmlFor="note">
          Note for colleagues
        </label>
        <input
          id="note"
          ref={field}
          className="input"
          dir="auto"
          maxLength={8_000}
          placeholder="Only colleagues see this"
          value={text}
          onChange={(event) => setText(event.target.value)}
          {...(mayAttach && { onPaste: attached.paste })}
        />
        {mayAttach && <AttachButton onFiles={attached.add} text="Add files" label="Files to add to the note" />}
        <Button type="submit" aria-disabled={!canSave || write.isPending}>
          Save note
        </Button>
      </form>
      <AttachmentList {...attached} label="Files of the new note" />
      <ul aria-label="Notes">
        {found.map((note) => (
          <li key={note.id}>
            <span className="row">
              <strong>{note.author.name}</strong> <Time at={note.createdAt} />
              <Button aria-disabled={remove.isPending} onClick={() => remove.isPending || remove.mutate(note.id)}>
                Delete note
              </Button>
            </span>
            <p dir="auto">{note.content}</p>
            <MessageFiles files={note.files} />
          </li>
        ))}
      </ul>
    </details>
  );
};
