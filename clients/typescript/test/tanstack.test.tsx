// @vitest-environment jsdom
import { fetchServerSentEvents, useChat } from "@tanstack/ai-react";
import { QueryClient, QueryClientProvider, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { type ReactNode, StrictMode } from "react";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../src/index.js";
import {
  agentConnection,
  agentQuery,
  agentsQuery,
  conversationQuery,
  conversationsQuery,
  followQueries,
  messagesQuery,
} from "../src/tanstack.js";
import { type Service, startService } from "./service.js";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
let stopFollowing = () => {};

afterEach(() => {
  cleanup();
  stopFollowing();
});
afterAll(() => service.stop());

const open = (url = service.url): Client => createClient({ url, apiKey: service.admin });

/** Renders a page with its own cache, which follows the log. */
const show = (client: Client, page: ReactNode) => {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  stopFollowing = followQueries(client, queries);
  return render(<QueryClientProvider client={queries}>{page}</QueryClientProvider>, { wrapper: StrictMode });
};
const listed = () => screen.queryAllByText(/./, { selector: "p" }).map(({ textContent }) => textContent);

test("conversations and messages are queried in pages, and follow the log", async () => {
  const client = open();
  const agentId = await service.newAgent();
  for (const title of ["one", "two", "three"]) await client.conversations.create({ agentId, title });
  const List = () => {
    const { data, hasNextPage, fetchNextPage } = useInfiniteQuery(conversationsQuery(client, { agentId, limit: 2 }));
    const all = data?.pages.flatMap((page) => page.data) ?? [];
    return (
      <>
        {all.map(({ id, title }) => (
          <p key={id}>{title}</p>
        ))}
        {hasNextPage && <button onClick={() => void fetchNextPage()}>More</button>}
      </>
    );
  };
  show(client, <List />);
  await expect.poll(listed).toEqual(["three", "two"]);
  fireEvent.click(screen.getByText("More"));
  await expect.poll(listed).toEqual(["three", "two", "one"]);
  const { id } = await client.conversations.create({ agentId, title: "four" });
  await expect.poll(listed).toEqual(["four", "three", "two", "one"]);
  cleanup();
  stopFollowing();

  const Messages = () => {
    const { data: conversation } = useQuery(conversationQuery(client, id));
    const { data, hasNextPage, fetchNextPage } = useInfiniteQuery(messagesQuery(client, id, 1));
    return (
      <>
        <p>{conversation?.messageCount}</p>
        {data?.pages
          .flatMap((page) => page.data)
          .map((message) => (
            <p key={message.id}>{message.content}</p>
          ))}
        {hasNextPage && <button onClick={() => void fetchNextPage()}>More</button>}
      </>
    );
  };
  show(client, <Messages />);
  await expect.poll(listed).toEqual(["0"]);
  for await (const part of client.chat({ conversationId: id, message: "Hello" })) void part;
  await expect.poll(listed).toEqual(["2", "You said: Hello"]);
  fireEvent.click(screen.getByText("More"));
  await expect.poll(listed).toEqual(["2", "You said: Hello", "Hello"]);
});

test("agents are queried, and follow the log; a problem is the error of the query", async () => {
  const client = open();
  const { id } = await client.agents.create({ name: "Ada" });
  const Agent = () => {
    const { data, error } = useQuery(agentQuery(client, id));
    const { data: agents } = useInfiniteQuery(agentsQuery(client, { limit: 100 }));
    const names = agents?.pages.flatMap((page) => page.data).map(({ name }) => name);
    return <p>{[error ? error.message : data?.name, names?.includes("Eve")].join()}</p>;
  };
  show(client, <Agent />);
  await expect.poll(listed).toEqual(["Ada,false"]);
  await client.agents.patch(id, { name: "Eve" });
  await expect.poll(listed).toEqual(["Eve,true"]);
  await client.agents.delete(id);
  await expect.poll(() => listed()[0]).toMatch(/\(agent_not_found\),false$/);
});

const Chat = ({ connection, threadId }: { connection: ReturnType<typeof agentConnection>; threadId: string }) => {
  const { url, fetchClient, stop } = connection;
  const chat = useChat({ connection: fetchServerSentEvents(url, { fetchClient }), threadId, persistence: true });
  return (
    <>
      {chat.messages.map(({ id, parts }) => (
        <p key={id}>{parts.map((part) => (part.type === "text" ? part.content : ""))}</p>
      ))}
      {["words 10 20", "hold", "Hello", "call calculator"].map((text) => (
        <button key={text} onClick={() => void chat.sendMessage(text)}>
          {`Send ${text}`}
        </button>
      ))}
      <button onClick={() => void stop(threadId)}>Stop</button>
    </>
  );
};
const click = (name: string) => fireEvent.click(screen.getByText(name));
const words = Array.from({ length: 10 }, (_, index) => `word${index + 1} `).join("");

test("a lost network fails with a sentence for visitors, and an abort as such", async () => {
  const offline: typeof fetch = async (_input, init) => {
    init?.signal?.throwIfAborted();
    throw new TypeError("fetch failed");
  };
  const { fetchClient } = agentConnection(createClient({ url: service.url, apiKey: service.admin, fetch: offline }), "agent");
  await expect(fetchClient("/ag-ui", {})).rejects.toThrow(new TypeError("The service cannot be reached. (network error)"));
  await expect(fetchClient("/ag-ui", { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
});

test("a chat of TanStack AI ends when its turn waits", async () => {
  const agentId = await service.newAgent({ tools: [{ name: "calculator", approval: "always" }] });
  render(<Chat connection={agentConnection(open(), agentId)} threadId="waiting" />);
  click("Send call calculator");
  await expect.poll(listed).toEqual(["call calculator", "Let me see. "]);
  await expect.poll(() => service.turns(agentId, "waiting")).toEqual(["requires_action"]);
});

test("a chat of TanStack AI is streamed over cuts, resumed and stopped", async () => {
  const agentId = await service.newAgent();
  let calls = 0;
  const client = createClient({ url: service.relay.url, getToken: () => (calls++ === 0 ? "expired" : service.admin) });
  const connection = agentConnection(client, agentId);
  const page = () => render(<Chat connection={connection} threadId="thread" />);
  page();
  service.relay.cutAfter(8);
  click("Send words 10 20");
  await expect.poll(listed).toEqual(["words 10 20", words]);
  service.relay.cutAfter(Infinity);
  expect([service.relay.cuts, calls]).toEqual([1, 2]);
  click("Send hold");
  await expect.poll(() => listed()[3]).toBe("First half, ");
  cleanup();
  page();
  await expect.poll(() => listed()[3]).toBe("First half, ");
  click("Stop");
  await expect.poll(() => service.turns(agentId, "thread")).toEqual(["completed", "cancelled"]);
});
