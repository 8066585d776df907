import { useQuery } from "@tanstack/react-query";
import { ConnectionError, type ConversationMessage, type components } from "agent-service-client";
import { useChat } from "agent-service-client/react";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { AgentName } from "../agents/agent-name.js";
import { titleOf } from "../conversations/title.js";
import { useAttachments } from "../files/use-attachments.js";
import { useFileDrop } from "../files/use-file-drop.js";
import { useScope, useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { ErrorNotice, Loading, MissingScope, problemIn } from "../ui/notice.js";
import { PageHeader } from "../ui/page-header.js";
import { Composer } from "./composer.js";
import { isOpen, MessageView } from "./message.js";
import { isRejected, useDraft } from "./use-draft.js";

type Turn = components["schemas"]["Turn"];

/** Returns the conversation of a chat, once it exists, and its newest turns, which know engine and usage. */
const useTurns = (agentId: string, key: string, userId: string | undefined, messages: readonly ConversationMessage[]) => {
  const { service } = useSession();
  const canRead = useScope("conversations:read");
  // A failed turn may have no reply.
  const hasEnded = ({ role, status }: ConversationMessage) => (role === "agent" ? !isOpen(status) : status === "failed");
  const newest = messages.findLast(hasEnded)?.turnId;
  return useQuery({
    queryKey: ["chat-turns", agentId, key, userId, newest],
    enabled: canRead && messages.length > 0,
    placeholderData: (previous) => previous,
    queryFn: async () => {
      const found = (await service.conversations.list({ agentId, key, ...(userId === undefined ? {} : { userId }) })).data[0];
      const turns = found === undefined ? [] : (await service.conversations.listTurns(found.id, { order: "desc", limit: 100 })).data;
      return { conversationId: found?.id, turns: new Map<string, Turn>(turns.map((turn) => [turn.id, turn])) };
    },
  });
};

/** Returns whether the page only receives no live updates, since it has another origin. */
const isWithoutUpdates = (error: unknown) => problemIn(error)?.code === "origin_not_allowed";

/** The states of a chat that are announced. */
const STATES: Record<string, string> = {
  sending: "Sending.",
  streaming: "The agent is writing.",
  requires_action: "The agent waits for an answer to a tool call.",
};

const Chat = ({ agentId, chatKey }: { agentId: string; chatKey: string }) => {
  const { service } = useSession();
  const [search] = useSearchParams();
  const userId = search.get("user") ?? undefined;
  const conversation = useMemo(
    () => service.conversation({ agentId, key: chatKey, ...(userId === undefined ? {} : { userId }) }),
    [service, agentId, chatKey, userId],
  );
  const { messages, hasOlder, loadOlder, status, error, send, stop, regenerate, edit, approve, deny } = useChat(conversation);
  const { data } = useTurns(agentId, chatKey, userId, messages);
  const canCreate = useScope("conversations:write");
  // A greeting that is shown before the conversation exists has the id of the agent.
  const isNew = messages.every(({ id }) => id === agentId) && (status === "ready" || isWithoutUpdates(error));
  const attached = useAttachments();
  const isDropTarget = useFileDrop(attached.add);
  const [draft, setDraft] = useDraft(messages, attached.restore);
  const [editing, setEditing] = useState<{ id: string; text: string }>();
  const end = useRef<HTMLDivElement>(null);
  const length = messages.reduce((sum, { text, toolCalls }) => sum + text.length + toolCalls.length, messages.length);
  const hasFailed = error !== undefined;
  const first = messages.find(({ role }) => role === "user");
  const own = messages.findLast(({ role }) => role === "user")?.id;
  const shown = useRef<string>(undefined);
  // Shows the newest message of the reader, and follows the reply unless the reader has scrolled up.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown changes with them.
  useEffect(() => {
    const { scrollHeight, clientHeight } = document.documentElement;
    const isOwn = shown.current !== own;
    shown.current = own;
    if (isOwn || scrollHeight - clientHeight - window.scrollY < 240) end.current?.scrollIntoView({ block: "end" });
  }, [length, own, hasFailed]);

  const isBusy = status === "sending" || status === "streaming";
  const isWaiting = status === "requires_action";
  const sendText = async (text: string) => {
    const files = attached.take();
    // A conversation that is created before its first message keeps the greeting.
    if (isNew && messages.length > 0 && canCreate) {
      const created = service.conversations.create({ agentId, conversationKey: chatKey, ...(userId === undefined ? {} : { userId }) });
      await created.then(
        () => {
          conversation.close();
          return conversation.load();
        },
        // The message creates the conversation, without the greeting.
        () => {},
      );
    }
    await send(text, { files });
  };
  const editMessage = async (id: string, text: string) => {
    setEditing(undefined);
    await edit(id, text);
    const { messages, error } = conversation.getSnapshot();
    const hasReplaced = !messages.some((message) => message.id === id);
    // A rejected text can be corrected; one that could not be sent is sent later.
    if (!hasReplaced && error !== undefined && !(error instanceof ConnectionError)) setEditing({ id, text });
  };
  const canRetry = status === "failed" && messages.length > 0 && !messages.slice(-1).some(isRejected);
  return (
    <div className={`chat ${isDropTarget ? "is-drop-target" : ""}`}>
      <PageHeader
        title={titleOf(first?.text) ?? titleOf(first?.files[0]?.name) ?? "Chat"}
        heading={
          <>
            Chat with <AgentName id={agentId} />
          </>
        }
        back={["/chat", "New chat"]}
        {...(userId === undefined ? {} : { detail: `For the user ${userId}` })}
      >
        {data?.conversationId !== undefined && (
          <Link href={`/conversations/${data.conversationId}`} className="button">
            <Icon name="conversations" /> Conversation and turns
          </Link>
        )}
      </PageHeader>
      <div className="messages" role="log" aria-label="Messages" aria-busy={status === "loading"}>
        {messages.length === 0 && status === "loading" && <Loading />}
        {hasOlder && (
          <Button className="load-more" onClick={() => void loadOlder()}>
            Older messages
          </Button>
        )}
        {isNew && <p className="chat-empty muted">Write the first message.</p>}
        {messages.map((message, index) =>
          // The composer shows a rejected message.
          isRejected(message) ? null : (
            <MessageView
              key={message.clientMessageId ?? message.id}
              message={message}
              isKept={message.status === "sending" && status === "failed"}
              turn={message.turnId === undefined ? undefined : data?.turns.get(message.turnId)}
              edited={editing?.id === message.id ? editing.text : undefined}
              onEdit={isBusy || message.role !== "user" || message.status === "sending" ? undefined : () => setEditing(message)}
              onEdited={(text) => {
                if (text === undefined) setEditing(undefined);
                else void editMessage(message.id, text);
              }}
              onRegenerate={
                isBusy || isWaiting || message.role !== "agent" || index === 0 || index !== messages.length - 1
                  ? undefined
                  : () => void regenerate(message.id)
              }
              decide={{ approver: "user", approve, deny }}
            />
          ),
        )}
        {status === "streaming" && messages.at(-1)?.role === "user" && <p className="small muted">Writing…</p>}
        {error !== undefined && (
          <ErrorNotice
            error={error}
            isRepeated={error instanceof ConnectionError}
            {...(canRetry ? { onRetry: () => void regenerate() } : {})}
          />
        )}
      </div>
      <p className="visually-hidden" role="status">
        {STATES[status]}
      </p>
      <Composer
        text={draft}
        onChange={setDraft}
        files={attached}
        isBusy={isBusy || isWaiting}
        onSend={(text) => void sendText(text)}
        onStop={() => void stop()}
      />
      <div ref={end} />
    </div>
  );
};

export const ChatPage = (props: { agentId: string; chatKey: string }) => {
  const canChat = useScope("chat:write");
  const canRead = useScope("conversations:read");
  if (!canChat) return <MissingScope scope="chat:write" />;
  if (!canRead) return <MissingScope scope="conversations:read" />;
  return <Chat {...props} />;
};
