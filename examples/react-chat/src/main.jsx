import { createClient } from "agent-service-client";
import { useChat, useConversations, useEvents } from "agent-service-client/react";
import { useMemo, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";

const getToken = async () => {
  const response = await fetch("/token", { method: "POST" });
  if (!response.ok) throw new Error("The backend issues no tokens.");
  return (await response.json()).token;
};
const service = createClient({ url: SERVICE, getToken });

const Chat = ({ id }) => {
  const chat = useMemo(() => service.conversation({ agentId: AGENT, key: id }), [id]);
  const { messages, status, error, send, stop, regenerate } = useChat(chat);
  const isBusy = status === "sending" || status === "streaming";
  const submit = (event) => {
    event.preventDefault();
    send(new FormData(event.target).get("text"));
    event.target.reset();
  };
  return (
    <main>
      <section><div>
        {messages.map(({ id, role, status, text }) => <p key={id} className={`${role} ${status}`}>{text}</p>)}
        {error && <p role="alert">{error.title ?? error.message} <button onClick={() => regenerate()}>Try again</button></p>}
      </div></section>
      <form onSubmit={submit}>
        <input name="text" aria-label="Message" placeholder="Message" autoComplete="off" required />
        {isBusy ? <button type="button" onClick={stop}>Stop</button> : <button>Send</button>}
      </form>
    </main>
  );
};

const Conversations = ({ current }) => {
  const { conversations, hasMore, loadMore } = useConversations(service, { agentId: AGENT });
  return (
    <nav>
      <button onClick={() => (location.hash = crypto.randomUUID())}>New chat</button>
      {conversations.map(({ key, title, excerpt }) => (
        <a key={key} href={`#${key}`} aria-current={key === current}>{title ?? excerpt ?? "New chat"}</a>
      ))}
      {hasMore && <button onClick={loadMore}>More</button>}
    </nav>
  );
};

const Activity = () => {
  const { events } = useEvents(service, { limit: 8 });
  return <aside>{events.map(({ seq, time, type }) => <p key={seq}><time>{time.slice(11, 19)}</time> {type}</p>)}</aside>;
};

// The address of the page names the conversation.
location.hash ||= crypto.randomUUID();
const onHashChange = (listener) => {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
};
const Page = () => {
  const id = useSyncExternalStore(onHashChange, () => location.hash.slice(1));
  return <><Conversations current={id} /><Chat key={id} id={id} /><Activity /></>;
};
createRoot(document.getElementById("root")).render(<Page />);
