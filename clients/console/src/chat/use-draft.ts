import type { ConversationMessage, MessageFile } from "agent-service-client";
import { useEffect, useRef, useState } from "react";

/** Returns true for a message that the service has rejected, so that it belongs to no turn. */
export const isRejected = ({ role, status, turnId }: ConversationMessage): boolean =>
  role === "user" && status === "failed" && turnId === undefined;

/** The text of the composer. Rejected messages return to it, before what was typed meanwhile; `restore` receives their files. */
export const useDraft = (messages: readonly ConversationMessage[], restore: (files: readonly MessageFile[]) => void) => {
  const [text, setText] = useState("");
  const returned = useRef(new Set<string>());
  const restoring = useRef(restore);
  useEffect(() => void (restoring.current = restore));
  useEffect(() => {
    const rejected = messages.filter((message) => isRejected(message) && !returned.current.has(message.id));
    if (rejected.length === 0) return;
    for (const { id } of rejected) returned.current.add(id);
    setText((typed) => [...rejected.map(({ text }) => text), typed].filter((text) => text !== "").join("\n\n"));
    restoring.current(rejected.flatMap(({ files }) => files));
  }, [messages]);
  return [text, setText] as const;
};
