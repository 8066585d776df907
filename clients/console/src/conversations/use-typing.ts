import { useEffect, useMemo, useState } from "react";
import { useScope, useSession } from "../session/session.js";

/** The time in milliseconds after which a report that somebody types is over, unless it is repeated. */
const TYPING = 6_000;

/** Returns the principal that types in a conversation elsewhere, and a function that reports that this member of staff does. */
export const useTyping = (conversationId: string): [actor: string | undefined, report: (isTyping: boolean) => void] => {
  const { service } = useSession();
  const mayFollow = useScope("events:read");
  const mayReport = useScope("chat:write");
  const [actor, setActor] = useState<string>();
  useEffect(() => {
    if (!mayFollow) return;
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (typist?: string) => {
      clearTimeout(timer);
      setActor(typist);
      if (typist !== undefined) timer = setTimeout(show, TYPING);
    };
    const follow = async () => {
      const events = service.events({
        channels: [`conversation:${conversationId}`],
        types: ["turn.started", "message.created"],
        signal: ended.signal,
        onTyping: ({ actor, typing }) => show(typing ? actor : undefined),
      });
      // What was typed has been sent.
      for await (const _ of events) show();
    };
    // The conversation can be read without this.
    follow().catch(() => {});
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [service, conversationId, mayFollow]);
  const conversation = useMemo(() => service.conversation({ id: conversationId }), [service, conversationId]);
  return [actor, (isTyping) => mayReport && conversation.setTyping(isTyping)];
};
