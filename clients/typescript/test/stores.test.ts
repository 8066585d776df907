// Live states of pages whose requests fail for a while.
import { expect, test, vi } from "vitest";
import { createClient } from "../src/index.js";
import { liveAgent, liveConversations, liveEvents } from "../src/stores/index.js";
import { agentId, service, useService } from "./conversations.js";

useService();

/** A client, of whose requests to a path the next `failures` are lost, or rejected with a problem that may pass. */
const failing = (path: string, isRejected: boolean) => {
  const network = {
    failures: 1,
    client: createClient({
      url: service.url,
      apiKey: service.admin,
      retries: 0,
      fetch: async (input, init) => {
        if (network.failures === 0 || !String(input).startsWith(service.url + path)) return fetch(input, init);
        network.failures -= 1;
        if (!isRejected) throw new TypeError("offline");
        const problem = { type: "", title: "Busy", status: 503, code: "store_unavailable", detail: "", retryable: true };
        return new Response(JSON.stringify(problem), { status: 503, headers: { "Content-Type": "application/problem+json" } });
      },
    }),
  };
  return network;
};

test.each([
  ["the position of the log is lost", "/api/events?limit=1", false],
  ["the position of the log is rejected", "/api/events?limit=1", true],
  ["the list is lost", "/api/conversations?", false],
  ["the list is rejected", "/api/conversations?", true],
])("a list is read and followed after %s", async (_name, path, isRejected) => {
  const { client } = failing(path, isRejected);
  const agent = await service.newAgent();
  await client.conversations.create({ agentId: agent, title: "before" });
  const list = liveConversations(client, { agentId: agent });
  const unsubscribe = list.subscribe(() => {});
  const listed = () => [list.getSnapshot().status, ...list.getSnapshot().conversations.map(({ title }) => title)];
  await expect.poll(listed).toEqual(["ready", "before"]);
  // Not only the first read: the events that follow are received, too.
  const followed: string[] = [];
  const events = liveEvents(client, {}, 1, ({ type }) => void followed.push(type));
  const unfollow = events.subscribe(() => {});
  await expect.poll(() => events.getSnapshot().status).toBe("ready");
  await client.conversations.create({ agentId: agent, title: "after" });
  await expect.poll(listed).toEqual(["ready", "after", "before"]);
  await expect.poll(() => followed).toEqual(["conversation.created"]);
  unsubscribe();
  unfollow();
});

test.each([
  ["of its user", true],
  ["of those who select its user", false],
])("a conversation that moves to another user leaves the list %s, and may come back", async (_name, isUser) => {
  const admin = createClient({ url: service.url, apiKey: service.admin });
  const userId = `moving-${isUser}`;
  const { id } = await admin.conversations.create({ agentId, userId });
  const scopes = ["chat:write", "conversations:read", "events:read"] as const;
  const issuer = createClient({ url: service.url, apiKey: service.key(["user-tokens:issue", ...scopes].join()) });
  const { token } = await issuer.userTokens.create({ userId, scopes: [...scopes] });
  const client = isUser ? createClient({ url: service.url, getToken: () => token }) : admin;
  const list = liveConversations(client, isUser ? {} : { userId });
  const unsubscribe = list.subscribe(() => {});
  const listed = () => list.getSnapshot().conversations.map((conversation) => conversation.id);
  await expect.poll(listed).toEqual([id]);
  await admin.conversations.patch(id, { userId: "elsewhere" });
  await expect.poll(listed).toEqual([]);
  await admin.conversations.patch(id, { userId });
  await expect.poll(listed).toEqual([id]);
  unsubscribe();
});

test("conversations that wait for staff are listed, those that wait longest first, until one is answered or handed back", async () => {
  const client = createClient({ url: service.url, apiKey: service.admin });
  const agent = await service.newAgent({ engine: "rules", fallbackReply: "A reply" });
  const list = liveConversations(client, { agentId: agent, waiting: true, limit: 1 });
  const own = liveConversations(client, { agentId: agent, assignee: "Mia" });
  const ends = [list, own].map((each) => each.subscribe(() => {}));
  const titles = (each: typeof list) => each.getSnapshot().conversations.map(({ title }) => title);
  await expect.poll(() => list.getSnapshot().status).toBe("ready");
  const ids: string[] = [];
  for (const title of ["one", "two", "three", "four"]) ids.push((await client.conversations.create({ agentId: agent, title })).id);
  const [one, two, three] = ids as [string, string, string, string];
  for (const id of [one, two, three]) await client.conversations.patch(id, { handledBy: "staff" });
  await expect.poll(() => [titles(list), list.getSnapshot().hasMore]).toEqual([["one"], true]);
  await list.loadMore();
  expect(titles(list)).toEqual(["one", "two"]);
  await client.conversations.patch(one, { assignee: "Mia" });
  await expect.poll(() => titles(own)).toEqual(["one"]);
  await expect.poll(() => list.getSnapshot().conversations[0]?.assignee).toBe("Mia");
  // The others follow in its place, as many as were shown.
  await client.conversations.writeMessage(one, { content: "Hello" });
  await expect.poll(() => titles(list)).toEqual(["two", "three"]);
  expect(titles(own)).toEqual(["one"]);
  for (const id of [one, two]) await client.conversations.patch(id, { handledBy: "agent" });
  await expect.poll(() => [titles(list), list.getSnapshot().hasMore, titles(own)]).toEqual([["three"], false, []]);
  await client.conversations.patch(two, { handledBy: "staff" });
  await expect.poll(() => [titles(list), list.getSnapshot().hasMore]).toEqual([["three"], true]);
  for (const end of ends) end();
});

test("conversations are listed by rating, time and metadata, and leave and enter the list as these change", async () => {
  const client = createClient({ url: service.url, apiKey: service.admin });
  const agent = await service.newAgent({ engine: "rules", fallbackReply: "A reply" });
  const ids: string[] = [];
  for (const shop of ["north", "south", "north"]) {
    const { id } = await client.conversations.create({ agentId: agent, title: `${shop} ${ids.length}`, metadata: { shop } });
    ids.push(id);
  }
  for await (const _ of client.chat({ conversationId: ids[0]!, message: "Hello" }));
  const { data } = await client.conversations.listMessages(ids[0]!);
  const { createdAt } = (await client.conversations.listMessages(ids[0]!, { order: "desc", limit: 1 })).data[0]!;
  const after = new Date(Date.parse(createdAt) + 1).toISOString();
  const filters = [{ rating: "down" }, { "metadata.shop": "north" }, { from: createdAt, to: after }, { from: after }] as const;
  const lists = filters.map((filter) => liveConversations(client, { agentId: agent, ...filter }));
  const ends = lists.map((each) => each.subscribe(() => {}));
  const titles = () => lists.map((each) => each.getSnapshot().conversations.map(({ title }) => title));
  await expect.poll(titles).toEqual([[], ["north 0", "north 2"], ["north 0"], []]);
  await client.conversations.rateMessage(ids[0]!, data.at(-1)!.id, { rating: "down" });
  await client.conversations.patch(ids[2]!, { metadata: { shop: "south" } });
  for await (const _ of client.chat({ conversationId: ids[1]!, message: "Hello" }));
  await expect.poll(titles).toEqual([["north 0"], ["north 0"], ["north 0"], ["south 1"]]);
  await client.conversations.rateMessage(ids[0]!, data.at(-1)!.id, { rating: "up" });
  await expect.poll(titles).toEqual([[], ["north 0"], ["north 0"], ["south 1"]]);
  for (const end of ends) end();
});

test("a search lists what it has found, in pages, until it is deleted", async () => {
  const client = createClient({ url: service.url, apiKey: service.admin });
  const agent = await service.newAgent({ engine: "rules", fallbackReply: "A reply" });
  const titles = ["Parcel one", "parcel TWO", "A kettle", "Parcel three"];
  const ids = new Map<string, string>();
  for (const title of titles) ids.set(title, (await client.conversations.create({ agentId: agent, title })).id);
  const search = { agentId: agent, q: " parcel " };
  await expect.poll(async () => (await client.conversations.list(search)).data.length).toBe(3);
  const list = liveConversations(client, { ...search, limit: 2 });
  const all = liveConversations(client, { agentId: agent, q: " " });
  const ends = [list, all].map((each) => each.subscribe(() => {}));
  const found = () => list.getSnapshot().conversations.map(({ match }) => match?.snippet);
  await expect.poll(() => [found(), list.getSnapshot().hasMore]).toEqual([["Parcel three", "parcel TWO"], true]);
  await list.loadMore();
  expect([found(), list.getSnapshot().hasMore]).toEqual([["Parcel three", "parcel TWO", "Parcel one"], false]);
  // New messages, other titles and new conversations change neither the order nor the matches.
  for await (const part of client.chat({ conversationId: ids.get("Parcel one")!, message: "My parcel" })) void part;
  await client.conversations.patch(ids.get("parcel TWO")!, { title: "Renamed" });
  await client.conversations.create({ agentId: agent, title: "Parcel five" });
  await expect.poll(() => all.getSnapshot().conversations.map(({ title }) => title)).toContain("Parcel five");
  await client.conversations.delete(ids.get("Parcel three")!);
  await expect.poll(found).toEqual(["parcel TWO", "Parcel one"]);
  expect(all.getSnapshot().conversations.every(({ match }) => match === undefined)).toBe(true);
  // A new search finds the newest match first, and a message by its id.
  await expect
    .poll(async () => (await client.conversations.list(search)).data.map(({ title }) => title))
    .toEqual(["Parcel five", "Parcel one"]);
  const again = liveConversations(client, search);
  ends.push(again.subscribe(() => {}));
  await expect.poll(() => again.getSnapshot().conversations.length).toBe(2);
  expect(again.getSnapshot().conversations[1]?.match).toEqual({ messageId: expect.any(String), snippet: "My parcel" });
  for (const end of ends) end();
});

test("an agent that could not be read is read again", async () => {
  const network = failing("/api/profiles/", false);
  const agent = liveAgent(network.client, agentId);
  const unsubscribe = agent.subscribe(() => {});
  await expect
    .poll(() => agent.getSnapshot())
    .toMatchObject({ status: "failed", error: { code: "offline", title: "The service cannot be reached." } });
  await expect.poll(() => agent.getSnapshot()).toMatchObject({ status: "ready", agent: { name: "Ada" } });
  unsubscribe();
});

test("a page that throws during an event receives the next ones, and so do its other parts", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const client = createClient({ url: service.url, apiKey: service.admin });
  const received: string[] = [];
  const broken = liveEvents(client, {}, 1, ({ type }) => {
    received.push(type);
    throw new Error("of the page");
  });
  const other = liveEvents(client);
  const ends = [broken, other].map((events) => events.subscribe(() => {}));
  await expect.poll(() => other.getSnapshot().status).toBe("ready");
  for (const title of ["one", "two"]) await client.conversations.create({ agentId, title });
  await expect.poll(() => received).toEqual(["conversation.created", "conversation.created"]);
  expect(other.getSnapshot().events).toHaveLength(2);
  expect(logged).toHaveBeenCalledWith(new Error("of the page"));
  for (const end of ends) end();
  logged.mockRestore();
});
