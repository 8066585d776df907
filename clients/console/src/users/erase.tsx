import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { useScope, useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { CopyableId } from "../ui/copy.js";
import { count } from "../ui/count.js";
import { Modal } from "../ui/dialog.js";
import { ErrorNotice } from "../ui/notice.js";

interface EraseProps {
  userId: string;
  onClose: () => void;
}

const COUNTED = 100;

/** Returns how many conversations of a user are erased. */
const useConversationCount = (userId: string): string => {
  const { service } = useSession();
  const { data } = useQuery({
    queryKey: ["conversations", "of-user", userId],
    queryFn: () => service.conversations.list({ userId, limit: COUNTED }),
  });
  if (data === undefined) return "All conversations";
  return data.hasMore ? `More than ${data.data.length} conversations` : count(data.data.length, "conversation");
};

/** Asks for the id of the user before everything about it is erased. */
const Question = ({ userId, onClose, onErased }: EraseProps & { onErased: (erasureId: string) => void }) => {
  const { service } = useSession();
  const [typed, setTyped] = useState("");
  const conversations = useConversationCount(userId);
  const erase = useMutation({
    mutationFn: () => service.users.erase({ userId }),
    onSuccess: ({ erasureId }) => onErased(erasureId),
  });
  const isConfirmed = typed.trim() === userId;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isConfirmed && !erase.isPending) erase.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <div className="stack-s">
        <p>This cannot be undone:</p>
        <ul className="bullets">
          <li>The tokens of the user end at once, and its name and context are deleted.</li>
          <li>{conversations}, with messages, notes and ratings, will be deleted within seconds. Replies in progress end.</li>
          <li>
            No text of them is left in the store after <code>ERASURE__WITHIN</code>, a day by default. Backups keep theirs.
          </li>
        </ul>
      </div>
      <label className="field">
        <span>
          Type <span className="mono typed-id">{userId}</span> to confirm
        </span>
        <input
          className="input"
          dir="auto"
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      </label>
      {erase.isError && <ErrorNotice error={erase.error} />}
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="danger" type="submit" disabled={!isConfirmed || erase.isPending}>
          Erase the user
        </Button>
      </div>
    </form>
  );
};

/** Says that an erasure has begun, and how its end is reported. */
const Begun = ({ erasureId, onClose }: { erasureId: string; onClose: () => void }) => {
  const canFollow = useScope("events:read");
  return (
    <div className="stack">
      <div className="stack-s" role="status">
        <p>Its tokens have ended, and its conversations are being deleted.</p>
        <p>
          Once that has ended, the event <code>user.erased</code>{" "}
          {canFollow && (
            <>
              in <Link href="/activity?type=user.erased">Activity</Link>{" "}
            </>
          )}
          contains this id:
        </p>
        <CopyableId id={erasureId} of="erasure" />
      </div>
      <div className="dialog-actions">
        <Button autoFocus onClick={onClose}>
          Close
        </Button>
      </div>
    </div>
  );
};

/** Erases everything about a user, and shows that the erasure has begun. */
export const EraseUser = ({ userId, onClose }: EraseProps) => {
  const queries = useQueryClient();
  const [erasureId, setErasureId] = useState<string>();
  const close = () => {
    for (const list of ["conversations", "search", "feedback"]) void queries.invalidateQueries({ queryKey: [list] });
    onClose();
  };
  return erasureId === undefined ? (
    <Modal title={`Erase everything about “${userId}”?`} onClose={onClose}>
      <Question userId={userId} onClose={onClose} onErased={setErasureId} />
    </Modal>
  ) : (
    <Modal title={`The erasure of “${userId}” has begun`} onClose={close}>
      <Begun erasureId={erasureId} onClose={close} />
    </Modal>
  );
};
