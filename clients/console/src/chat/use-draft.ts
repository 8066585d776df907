import type { ConversationMessage } from "agent-service-client";
import { useEffect, useRef, useState } from "react";

/** Returns true for a message that the service has rejected, so that it belongs to no turn. */
export const isRejected = ({ role, status, turnId }: ConversationMessage): boolean =>
  role === "user" && status === "failed" && turnId === undefined;

/** The text of the composer. Rejected messages return to it, before what was typed meanwhile. */
export const useDraft = (messages: readonly ConversationMessage[]) => {
  const [text, setText] = useState("");
  const returned = useRef(new Set<string>());
  useEffect(() => {
    const rejected = messages.filter((message) => isRejected(message) && !returned.current.has(message.id));
    if (rejected.length === 0) return;
    for (const { id } of rejected) returned.current.add(id);
    setText((typed) => [...rejected.map((message) => message.text), ...(typed === "" ? [] : [typed])].join("\n\n"));
  }, [messages]);
  return [text, setText] as const;
};
