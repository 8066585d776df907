// @vitest-environment jsdom
import {
  ActionBarPrimitive,
  type AssistantRuntime,
  AssistantRuntimeProvider,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadListItemPrimitive,
  ThreadListPrimitive,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
  useAuiState,
  useRemoteThreadListRuntime,
} from "@assistant-ui/react";
import { useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { StrictMode, useMemo } from "react";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { photo } from "../../../crates/api/tests/clients/photo.mjs";
import { createChatTransport } from "../src/ai/index.js";
import { createHistoryAdapter, createThreadListAdapter, useAgentRuntime } from "../src/assistant-ui/index.js";
import { type Client, createClient } from "../src/index.js";
import { type Service, startService } from "./service.js";

let service: Service;
let agentId: string;
let runtime: AssistantRuntime;

beforeAll(async () => {
  // assistant-ui shows no image of the agent by http, and the page is one of jsdom.
  service = await startService({ SERVER__PUBLIC_URL: "https://agents.example.org", SERVER__ALLOWED_ORIGINS: location.origin });
  // Of jsdom, which has no layout.
  globalThis.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
  Element.prototype.scrollTo ??= () => {};
});
afterEach(cleanup);
afterAll(() => service.stop());

const open = (): Client => createClient({ url: service.url, apiKey: service.admin, webSocket: null });

const Text = ({ text }: { text: string }) => <>{text}</>;
const Tool = ({ toolName, result, approval, respondToApproval }: ToolCallMessagePartProps) => (
  <>
    {`[${toolName}: ${String(result)}]`}
    {approval && (
      <>
        <button onClick={() => void respondToApproval({ approved: true })}>Approve</button>
        <button onClick={() => void respondToApproval({ approved: false, reason: "too dear" })}>Deny</button>
      </>
    )}
  </>
);
const Attachment = () => {
  const { name, file, content = [] } = useAuiState(({ attachment }) => attachment);
  const [part] = content;
  const url = part?.type === "image" ? part.image : part?.type === "file" && part.data;
  return <small>{`${name}: ${url || (file && "own")}`}</small>;
};
const Image = ({ image, filename }: { image: string; filename?: string }) => <small>{`${filename}: ${image}`}</small>;
const parts = { Text, Image, tools: { Fallback: Tool } };
const UserMessage = () => (
  <MessagePrimitive.Root>
    <p>
      <MessagePrimitive.Parts components={parts} />
    </p>
    <MessagePrimitive.Attachments components={{ Attachment }} />
    <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>
  </MessagePrimitive.Root>
);
const EditComposer = () => (
  <ComposerPrimitive.Root>
    <ComposerPrimitive.Attachments components={{ Attachment }} />
    <ComposerPrimitive.Input aria-label="Edited" />
    <ComposerPrimitive.Send>Replace</ComposerPrimitive.Send>
  </ComposerPrimitive.Root>
);
const AssistantMessage = () => (
  <MessagePrimitive.Root>
    <p>
      <MessagePrimitive.Parts components={parts} />
      <MessagePrimitive.Error>
        failed: <ErrorPrimitive.Message />
      </MessagePrimitive.Error>
    </p>
    <ActionBarPrimitive.Reload>Regenerate</ActionBarPrimitive.Reload>
    <ActionBarPrimitive.FeedbackPositive>Good</ActionBarPrimitive.FeedbackPositive>
    <ActionBarPrimitive.FeedbackNegative>Bad</ActionBarPrimitive.FeedbackNegative>
  </MessagePrimitive.Root>
);
const Item = () => (
  <ThreadListItemPrimitive.Root>
    <ThreadListItemPrimitive.Trigger>
      <em>
        <ThreadListItemPrimitive.Title />
      </em>
    </ThreadListItemPrimitive.Trigger>
  </ThreadListItemPrimitive.Root>
);

const Page = ({ use }: { use: () => AssistantRuntime }) => {
  runtime = use();
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadListPrimitive.New>New</ThreadListPrimitive.New>
      <ThreadListPrimitive.Items components={{ ThreadListItem: Item }} />
      <ThreadPrimitive.Messages components={{ UserMessage, EditComposer, AssistantMessage }} />
      <ComposerPrimitive.AttachmentDropzone>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Attachments components={{ Attachment }} />
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
      </ComposerPrimitive.AttachmentDropzone>
    </AssistantRuntimeProvider>
  );
};

/** Opens a page; with `threadId`, one that shows this thread. */
const show = (threadId?: string) => {
  const client = open();
  const tools = { open_cart: async () => "open" };
  const use = () => useAgentRuntime(client, { agentId, threadId, tools, userId: undefined, onThreadIdChange: undefined });
  render(<Page use={use} />, { wrapper: StrictMode });
};
const shown = (tag: string) => screen.queryAllByText((_, element) => element?.tagName === tag).map(({ textContent }) => textContent);
const messages = () => shown("P");
const threads = () => shown("EM");
const button = (name: string, index = -1) => screen.getAllByRole<HTMLButtonElement>("button", { name }).at(index)!;
const click = async (name: string, index?: number) => {
  await expect.poll(() => button(name, index).disabled).toBe(false);
  fireEvent.click(button(name, index));
};
const send = async (text: string) => {
  fireEvent.change(screen.getByLabelText("Message"), { target: { value: text } });
  await click("Send");
};
const remoteId = () => runtime.threads.mainItem.getState().remoteId;
/** The titles that are stored, shortly after they are shown. */
const titles = async () => (await open().conversations.list({ agentId })).data.map(({ title }) => title).sort();
const turns = () => service.turns(agentId, remoteId());

test("a chat is streamed, stopped, edited and generated again", async () => {
  agentId = await service.newAgent();
  show();
  await send("tool");
  await expect.poll(messages).toEqual(["tool", "Let me see. [calculator: 408]\n\nThat is it."]);
  await send("hold");
  await expect.poll(() => messages()[3]).toBe("First half, ");
  await click("Stop");
  await expect.poll(turns).toEqual(["completed", "cancelled"]);
  await send("Hello");
  await expect.poll(() => messages().slice(4)).toEqual(["Hello", "You said: Hello"]);
  await click("Regenerate");
  await expect.poll(turns).toEqual(["completed", "cancelled", "completed", "completed"]);
  await expect.poll(() => messages().slice(4)).toEqual(["Hello", "You said: Hello"]);
  await click("Edit", 0);
  fireEvent.change(screen.getByLabelText("Edited"), { target: { value: "uno" } });
  await click("Replace");
  await expect.poll(messages).toEqual(["uno", "You said: uno"]);
});

test("files are dropped and pasted, sent, kept by an edit, and have an address after a reload; those of staff, too", async () => {
  agentId = await service.newAgent();
  show();
  const bytes = Uint8Array.from(Buffer.from(photo.base64, "base64"));
  const dropped = { types: ["Files"], files: [new File([bytes], "parcel.png", { type: "image/png" })] };
  fireEvent.drop(screen.getByLabelText("Message"), { dataTransfer: dropped });
  await expect.poll(() => shown("SMALL")).toEqual(["parcel.png: own"]);
  const pasted = { files: [new File(["Broken on one side"], "notes.txt", { type: "text/plain" })] };
  fireEvent.paste(screen.getByLabelText("Message"), { clipboardData: pasted });
  await expect.poll(() => shown("SMALL")).toEqual(["parcel.png: own", "notes.txt: own"]);
  await act(() => runtime.thread.composer.getAttachmentByIndex(1).remove());
  await expect.poll(() => shown("SMALL")).toEqual(["parcel.png: own"]);
  await send("look");
  const seen = ["look", `I see image/png of ${photo.bytes} bytes`];
  await expect.poll(messages).toEqual(seen);
  expect(shown("SMALL")).toEqual(["parcel.png: own"]);
  const key = remoteId()!;
  cleanup();

  show(key);
  await expect.poll(messages).toEqual(seen);
  const link = expect.stringMatching(/^parcel\.png: https:\/\/agents\.example\.org\/api\/files\/[\w-]+\/content\?link=/);
  await expect.poll(() => shown("SMALL")).toEqual([link]);
  await click("Edit");
  await expect.poll(() => shown("SMALL")).toEqual([link]);
  await click("Replace");
  await expect.poll(turns).toEqual(["completed", "completed"]);
  await expect.poll(messages).toEqual(seen);
  expect(service.model.requests.at(-1).at(-1).content[1].image_url.url).toBe(photo.url);

  const { headers, url } = service;
  const uploaded = await fetch(`${url}/api/files`, { method: "POST", headers: { ...headers, "content-type": "image/png" }, body: bytes });
  const { id } = (await open().conversations.list({ agentId, key })).data[0]!;
  const files = [((await uploaded.json()) as { id: string }).id];
  await open().conversations.writeMessage(id, { content: "This one?", files });
  await expect.poll(() => shown("SMALL")).toEqual([link, expect.stringMatching(/^file\.png: https:.*link=/)]);
  const { messages: loaded } = await createHistoryAdapter(open(), { agentId }, () => key).load();
  expect(loaded[0]!.message.attachments).toMatchObject([
    { name: "parcel.png", content: [{ type: "image", image: expect.stringMatching(/link=/) }] },
  ]);
});

test("calls are approved and denied, tools of the page are called, and a new message dismisses what waits", async () => {
  const cart = { name: "open_cart", run: "client", description: "Opens the cart.", parameters: { type: "object" } };
  agentId = await service.newAgent({ tools: [{ name: "calculator", approval: "always" }, cart] });
  show();
  await send("call calculator");
  await expect.poll(messages).toEqual(["call calculator", "Let me see. [calculator: undefined]ApproveDeny"]);
  await click("Approve");
  await expect.poll(messages).toEqual(["call calculator", expect.stringContaining("[calculator: 408]")]);
  await expect.poll(() => messages()[1]).toContain("It returned");
  await send("call calculator");
  await click("Deny");
  await expect.poll(() => messages()[3]).toContain("denied: too dear]");
  await send("call open_cart");
  await expect.poll(() => messages()[5]).toMatch(/\[open_cart: "?open"?\]/);
  await send("call calculator");
  await expect.poll(() => messages()[7]).toContain("Approve");
  await send("Hello");
  await expect.poll(() => messages().slice(8)).toEqual(["Hello", "You said: Hello"]);
  expect(messages()[7]).not.toContain("Approve");
  expect(await turns()).toEqual(Array(5).fill("completed"));
});

test("a reply is rated, which a reload shows", async () => {
  agentId = await service.newAgent();
  show();
  await send("one");
  await expect.poll(messages).toEqual(["one", "You said: one"]);
  await click("Bad");
  const isRated = (name: string) => button(name).dataset.submitted;
  await expect.poll(() => isRated("Bad")).toBe("true");
  const ratings = async () => (await open().feedback.list({ agentId })).data.map(({ rating }) => rating);
  await expect.poll(ratings).toEqual(["down"]);
  const key = remoteId();
  cleanup();
  show(key);
  await expect.poll(messages).toEqual(["one", "You said: one"]);
  expect(isRated("Bad")).toBe("true");
  await click("Good");
  await expect.poll(ratings).toEqual(["up"]);
  await expect.poll(() => [isRated("Good"), isRated("Bad")]).toEqual(["true", undefined]);
});

test("a failed message is shown as such, and is answered again", async () => {
  agentId = await service.newAgent();
  show();
  await send("fail 2");
  await expect.poll(messages).toEqual(["fail 2", "word1 word2 failed: The reply engine failed."]);
  expect(runtime.thread.getState().messages.every(({ createdAt }) => Math.abs(Date.now() - createdAt.getTime()) < 60_000)).toBe(true);
  await click("Regenerate");
  await expect.poll(turns).toEqual(["failed", "failed"]);
  // A failed message without a reply says why, too.
  await send("fail");
  await expect.poll(() => messages().slice(-2)).toEqual(["fail", "failed: The reply engine failed."]);
});

test("threads are listed, opened, renamed, archived and deleted, and resumed after a reload", async () => {
  agentId = await service.newAgent();
  show();
  await send("one");
  await expect.poll(messages).toEqual(["one", "You said: one"]);
  await expect.poll(threads).toEqual(["one"]);
  await click("New");
  await expect.poll(messages).toEqual([]);
  await send("hold");
  await expect.poll(messages).toEqual(["hold", "First half, "]);
  await expect.poll(titles).toEqual(["hold", "one"]);
  const key = remoteId();
  cleanup();

  show(key);
  await expect.poll(messages).toEqual(["hold", "First half, "]);
  service.model.release();
  await expect.poll(messages).toEqual(["hold", "First half, second half."]);
  await expect.poll(threads).toContain("one");
  fireEvent.click(screen.getByText("one"));
  await expect.poll(messages).toEqual(["one", "You said: one"]);
  const item = runtime.threads.getItemById(remoteId()!);
  await act(() => item.rename("renamed"));
  cleanup();

  show();
  await expect.poll(threads).toContain("renamed");
  const [renamed, held] = ["renamed", "hold"].map((title) => {
    const { threadIds: ids, threadItems } = runtime.threads.getState();
    return runtime.threads.getItemById(ids.find((id) => threadItems[id]?.title === title)!);
  });
  await act(() => renamed!.archive());
  await act(() => held!.delete());
  cleanup();
  show();
  await expect.poll(() => runtime.threads.getState().archivedThreadIds).toHaveLength(1);
  expect(threads()).toEqual([]);
});

test("threads and history serve the runtime of the AI SDK", async () => {
  agentId = await service.newAgent();
  const show = () => {
    const client = open();
    const use = () => {
      const adapter = useMemo(() => createThreadListAdapter(client, { agentId }), []);
      const transport = useMemo(() => createChatTransport(client, { agentId }), []);
      return useRemoteThreadListRuntime({ adapter, runtimeHook: () => useChatRuntime({ transport }) });
    };
    render(<Page use={use} />);
  };
  show();
  await send("one");
  await expect.poll(messages).toEqual(["one", "You said: one"]);
  await expect.poll(titles).toEqual(["one"]);
  cleanup();
  show();
  await expect.poll(threads).toEqual(["one"]);
  fireEvent.click(screen.getByText("one"));
  await expect.poll(messages).toEqual(["one", "You said: one"]);
  await send("two");
  await expect.poll(messages).toEqual(["one", "You said: one", "two", "You said: two"]);
  await expect.poll(turns).toEqual(["completed", "completed"]);
});

test("the history of a conversation is loaded for other runtimes", async () => {
  agentId = await service.newAgent();
  const client = open();
  for await (const part of client.chat({ agentId, conversationKey: "history", message: "tool" })) void part;
  const load = (key?: string) => createHistoryAdapter(client, { agentId }, () => key).load();
  expect(await load()).toEqual({ messages: [] });
  const loaded = await load("history");
  expect(loaded.messages.map(({ message: { role, content } }) => [role, ...content.map(({ type }) => type)])).toEqual([
    ["user", "text"],
    ["assistant", "text", "tool-call", "text"],
  ]);
});
