// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { StrictMode, useMemo, version } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Client, type Conversation, createClient, type LogEvent } from "../src/index.js";
import { useAgent, useChat, useConversations, useEvents } from "../src/react.js";
import { type Service, startService } from "./service.js";

let service: Service;

beforeAll(async () => {
  service = await startService();
  expect(version.split(".")[0]).toBe(process.env.REACT);
});
afterEach(cleanup);
afterAll(() => service.stop());

const open = (apiKey = service.admin, url = service.url): Client => createClient({ url, apiKey });

/** A client without sockets, which counts its streams of events. */
const counting = () => {
  const count = { streams: 0, open: 0 };
  const counted: typeof fetch = async (input, init) => {
    if (new Headers(init?.headers).get("Accept") === "text/event-stream") {
      count.streams += 1;
      count.open += 1;
      init?.signal?.addEventListener("abort", () => (count.open -= 1));
    }
    return fetch(input, init);
  };
  return { count, client: createClient({ url: service.url, apiKey: service.admin, fetch: counted, webSocket: null }) };
};

const Page = ({ chat }: { chat: Conversation }) => {
  const { messages, status, send } = useChat(chat);
  return (
    <>
      {messages.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
      <button disabled={status !== "ready"} onClick={() => void send("Hello")}>
        Send
      </button>
    </>
  );
};

test("a page shows a conversation, in strict mode too", async () => {
  const agentId = await service.newAgent();
  const client = open();
  const page = (key: number) => <Page key={key} chat={client.conversation({ agentId, key: "page" })} />;
  const shown = render(page(1), { wrapper: StrictMode });
  const button = await screen.findByRole<HTMLButtonElement>("button");
  await expect.poll(() => button.disabled).toBe(false);
  fireEvent.click(button);
  await screen.findByText("You said: Hello");
  shown.rerender(page(2));
  await screen.findByText("You said: Hello");
  await expect.poll(() => service.turns(agentId, "page")).toEqual(["completed"]);
});

test("a page shows the greeting before the conversation exists, and not twice once it is stored", async () => {
  const greeting = "How can I help?";
  const agentId = await service.newAgent({ greeting });
  const client = open();
  const page = (key: string) => <Page key={key} chat={client.conversation({ agentId, key })} />;
  const shown = render(page("new"));
  await screen.findByText(greeting);
  expect((await client.conversations.list({ agentId })).data).toEqual([]);
  await expect.poll(() => screen.getByRole<HTMLButtonElement>("button").disabled).toBe(false);
  fireEvent.click(screen.getByRole("button"));
  await screen.findByText("You said: Hello");
  expect(screen.getAllByText(/./, { selector: "p" }).map(({ textContent }) => textContent)).toEqual([greeting, "Hello", "You said: Hello"]);

  await client.conversations.create({ agentId, conversationKey: "stored" });
  shown.rerender(page("stored"));
  await expect.poll(() => screen.queryAllByText(greeting)).toHaveLength(1);
  await expect.poll(() => screen.getByRole<HTMLButtonElement>("button").disabled).toBe(false);
  fireEvent.click(screen.getByRole("button"));
  await screen.findByText("You said: Hello");
  shown.rerender(page("new"));
  shown.rerender(page("stored"));
  await screen.findByText("You said: Hello");
  expect(screen.getAllByText(greeting)).toHaveLength(1);
});

test("a page approves calls, and has tools that see its current state, in strict mode too", async () => {
  const cart = { name: "open_cart", run: "client", description: "Opens the cart.", parameters: { type: "object" } };
  const agentId = await service.newAgent({ tools: [{ name: "calculator", approval: "always" }, cart] });
  const chat = open().conversation({ agentId, key: "tools" });
  let calls = 0;
  const Shop = ({ items }: { items: number }) => {
    const openCart = async () => {
      calls += 1;
      return `${items} items`;
    };
    const { messages, status, send, approve, deny } = useChat(chat, { tools: { open_cart: openCart } });
    const asked = messages.at(-1)?.toolCalls.find(({ needs }) => needs === "approval");
    return (
      <>
        {messages.map(({ id, text }) => (
          <p key={id}>{text}</p>
        ))}
        <output>{status}</output>
        <button onClick={() => void send("call open_cart calculator calculator")}>Send</button>
        {asked && <button onClick={() => void approve(asked.id)}>Approve</button>}
        {asked && <button onClick={() => void deny(asked.id, "too dear")}>Deny</button>}
      </>
    );
  };
  const page = render(<Shop items={1} />, { wrapper: StrictMode });
  await expect.poll(status).toBe("ready");
  page.rerender(<Shop items={2} />);
  fireEvent.click(screen.getByText("Send"));
  fireEvent.click(await screen.findByText("Approve"));
  const denied = async () => {
    await expect
      .poll(
        () =>
          chat
            .getSnapshot()
            .messages.at(-1)
            ?.toolCalls.filter(({ needs }) => needs).length,
      )
      .toBe(1);
    fireEvent.click(screen.getByText("Deny"));
  };
  await denied();
  await expect.poll(status).toBe("ready");
  expect(calls).toBe(1);
  await expect.poll(() => listed().at(-1)).toMatch(/2 items.*408.*too dear/);
});

const List = ({ client, agentId, limit }: { client: Client; agentId: string; limit?: number }) => {
  const { conversations, status, hasMore, error, loadMore } = useConversations(client, { agentId, ...(limit ? { limit } : {}) });
  return (
    <>
      <output>{error && "code" in error ? error.code : status}</output>
      {conversations.map(({ id, title, excerpt }) => (
        <p key={id}>{title ?? excerpt}</p>
      ))}
      {hasMore && <button onClick={() => void loadMore()}>More</button>}
    </>
  );
};
const listed = () => screen.queryAllByText(/./, { selector: "p" }).map(({ textContent }) => textContent);
const status = () => document.querySelector("output")?.textContent;

test("conversations are listed with the newest first, in pages", async () => {
  const client = open();
  const agentId = await service.newAgent();
  for (const title of ["one", "two", "three", "four", "five"]) await client.conversations.create({ agentId, title });
  render(<List client={client} agentId={agentId} limit={2} />, { wrapper: StrictMode });
  expect(status()).toBe("loading");
  await expect.poll(listed).toEqual(["five", "four"]);
  fireEvent.click(screen.getByText("More"));
  await expect.poll(listed).toEqual(["five", "four", "three", "two"]);
  // One that arrives meanwhile neither hides nor repeats others.
  await client.conversations.create({ agentId, title: "six" });
  await expect.poll(listed).toEqual(["six", "five", "four", "three", "two"]);
  fireEvent.click(screen.getByText("More"));
  await expect.poll(listed).toEqual(["six", "five", "four", "three", "two", "one"]);
  expect(screen.queryByText("More")).toBeNull();
  // More changes at once than a page has: the list keeps its length, without a gap.
  await Promise.all(["seven", "eight", "nine"].map((title) => client.conversations.create({ agentId, title })));
  await expect.poll(() => listed().length).toBe(9);
  expect(screen.queryByText("More")).toBeNull();
  expect(listed().slice(0, 3).sort()).toEqual(["eight", "nine", "seven"]);
  expect(listed().slice(3)).toEqual(["six", "five", "four", "three", "two", "one"]);
});

test("new, renamed, continued and deleted conversations appear as they change", async () => {
  const client = open();
  const agentId = await service.newAgent();
  render(<List client={client} agentId={agentId} />, { wrapper: StrictMode });
  await expect.poll(status).toBe("ready");
  const first = await client.conversations.create({ agentId, title: "first" });
  const second = await client.conversations.create({ agentId, title: "second" });
  await expect.poll(listed).toEqual(["second", "first"]);
  await client.conversations.patch(first.id, { title: "renamed" });
  await expect.poll(() => listed().sort()).toEqual(["renamed", "second"]);
  for await (const part of client.chat({ conversationId: second.id, message: "Hello" })) void part;
  await expect.poll(listed).toEqual(["second", "renamed"]);
  for await (const part of client.chat({ conversationId: first.id, message: "Hello" })) void part;
  await expect.poll(listed).toEqual(["renamed", "second"]);
  await client.conversations.delete(second.id);
  await expect.poll(listed).toEqual(["renamed"]);
  // Those of other agents do not appear.
  await client.conversations.create({ agentId: await service.newAgent(), title: "other" });
  await client.conversations.create({ agentId, title: "last" });
  await expect.poll(listed).toEqual(["last", "renamed"]);
});

test("changes during an outage of the service appear after it", async () => {
  const client = open(service.admin, service.relay.url);
  const agentId = await service.newAgent();
  render(<List client={client} agentId={agentId} />);
  await expect.poll(status).toBe("ready");
  service.relay.refuse();
  await open().conversations.create({ agentId, title: "meanwhile" });
  service.relay.accept();
  await expect.poll(listed).toEqual(["meanwhile"]);
});

test("without permission, conversations show the problem; without events, they are read once", async () => {
  const agentId = await service.newAgent();
  const shown = render(<List client={open(service.key("chat:write"))} agentId={agentId} />);
  await expect.poll(status).toBe("insufficient_scope");
  shown.unmount();
  await open().conversations.create({ agentId, title: "readable" });
  render(<List client={open(service.key("conversations:read"))} agentId={agentId} />);
  await expect.poll(listed).toEqual(["readable"]);
});

const Name = ({ client, id }: { client: Client; id: string }) => {
  const { agent, status, error } = useAgent(client, id);
  return <p>{agent?.name ?? (error && "code" in error ? error.code : status)}</p>;
};

test("an agent is shown with its changes", async () => {
  const client = open();
  const [agent, other] = [await client.agents.create({ name: "Ada" }), await client.agents.create({ name: "Grace" })];
  const shown = render(<Name client={client} id={agent.id} />, { wrapper: StrictMode });
  expect(listed()).toEqual(["loading"]);
  await screen.findByText("Ada");
  await client.agents.patch(agent.id, { name: "Eve" });
  await screen.findByText("Eve");
  shown.rerender(<Name client={client} id={other.id} />);
  await screen.findByText("Grace");
  await client.agents.delete(other.id);
  await screen.findByText("agent_not_found");
});

const Activity = ({ client, agentId, onEvent }: { client: Client; agentId: string; onEvent: (event: LogEvent) => void }) => {
  const { events, status } = useEvents(client, {
    channels: [`agent:${agentId}`],
    types: ["turn.completed", "conversation.created"],
    limit: 2,
    onEvent,
  });
  return <p>{[status, ...events.map(({ type }) => type)].join()}</p>;
};

test("the newest events are kept, and each is reported once", async () => {
  const client = open();
  const agentId = await service.newAgent();
  const received: string[] = [];
  const page = () => <Activity client={client} agentId={agentId} onEvent={({ type }) => void received.push(type)} />;
  const shown = render(page(), { wrapper: StrictMode });
  await expect.poll(listed).toEqual(["ready"]);
  for (let count = 0; count < 2; count += 1) {
    for await (const part of client.chat({ agentId, message: "Hello" })) void part;
    shown.rerender(page());
  }
  await expect.poll(listed).toEqual(["ready,turn.completed,conversation.created"]);
  expect(received).toEqual(["conversation.created", "turn.completed", "conversation.created", "turn.completed"]);
});

test("all hooks of a client share one stream, which ends with the last of them", async () => {
  const { client, count } = counting();
  const agentId = await service.newAgent();
  const page = (
    <>
      <List client={client} agentId={agentId} />
      <Name client={client} id={agentId} />
      <Activity client={client} agentId={agentId} onEvent={() => {}} />
    </>
  );
  const shown = render(page, { wrapper: StrictMode });
  await screen.findByText("Ada");
  await expect.poll(() => count).toEqual({ streams: 1, open: 1 });
  shown.unmount();
  await expect.poll(() => count).toEqual({ streams: 1, open: 0 });
});

test("hooks render on a server without a request", async () => {
  const never: typeof fetch = () => expect.unreachable();
  const client = createClient({ url: service.url, apiKey: service.admin, fetch: never });
  const html = renderToString(
    <>
      <Page chat={client.conversation({ agentId: "a", key: "k" })} />
      <List client={client} agentId="a" />
      <Name client={client} id="a" />
      <Activity client={client} agentId="a" onEvent={() => {}} />
    </>,
  );
  expect(html).toContain("<output>loading</output>");
});

test("a conversation or a client that is created in render is told once", async () => {
  const told = vi.spyOn(console, "error").mockImplementation(() => {});
  const agentId = await service.newAgent();
  const client = open();
  const chat = client.conversation({ agentId, key: "outside" });
  const Right = ({ id }: { id: string }) => <Page chat={useMemo(() => client.conversation({ agentId, key: id }), [id])} />;
  const Chats = ({ number }: { number: number }) => <Page chat={number < 9 ? client.conversation({ agentId, key: "inside" }) : chat} />;
  const Agents = () => <p>{useAgent(open(), agentId).agent?.name ?? "loading"}</p>;
  try {
    // To open one conversation after the other is right.
    const right = render(<Right id="c0" />, { wrapper: StrictMode });
    for (let number = 1; number < 9; number += 1) {
      right.rerender(<Right id={`c${number}`} />);
      await expect.poll(() => screen.getByRole<HTMLButtonElement>("button").disabled).toBe(false);
    }
    cleanup();
    expect(told).not.toHaveBeenCalled();
    const advice = "Create clients and conversations outside of components, or with `useMemo`.";
    const wrong = render(<Chats number={0} />);
    for (let number = 1; number < 9; number += 1) wrong.rerender(<Chats number={number} />);
    expect(told.mock.calls).toEqual([[advice]]);
    wrong.rerender(<Chats number={9} />);
    cleanup();
    const agents = render(<Agents />);
    for (let number = 1; number < 9; number += 1) agents.rerender(<Agents />);
    expect(told.mock.calls).toEqual([[advice], [advice]]);
  } finally {
    cleanup();
    told.mockRestore();
  }
});
