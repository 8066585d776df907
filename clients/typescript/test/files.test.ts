// Files of messages: uploads, what pages show of them, and their addresses.
import { expect, onTestFinished, test, vi } from "vitest";
import { type Conversation, createClient, type KeyValueStorage, type MessageFile } from "../src/index.js";
import { agentId, newKey, service, statuses, texts, until, useService } from "./conversations.js";
import { memoryStorage } from "./memory-storage.js";

useService({ LLM__INPUTS: "image" });

/** A picture of one pixel. */
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFAAH/q842iQAAAABJRU5ErkJggg==", "base64");
const picture = (name = "photo.png") => new File([PIXEL], name, { type: "image/png" });
const note = (name = "note.txt", text = "Hello") => new File([text], name, { type: "text/plain" });

type Fetch = typeof fetch;
const isUpload = (input: unknown, init?: RequestInit) => String(input).endsWith("/api/files") && init?.method === "POST";
const isChat = (input: unknown) => String(input).endsWith("/api/chat");

/** Opens the page of a conversation with an agent of its own. */
const open = async (key: string, more: { fetch?: Fetch; storage?: KeyValueStorage; agentId?: string } = {}) => {
  const { storage = memoryStorage(), fetch, agentId = await service.newAgent() } = more;
  const client = createClient({ url: service.url, apiKey: service.admin, ...(fetch && { fetch }) });
  const chat = client.conversation({ agentId, key, storage });
  onTestFinished(chat.close);
  return { client, chat, agentId, storage };
};

const filesOf = (chat: Conversation): readonly MessageFile[] => chat.getSnapshot().messages.findLast(({ role }) => role === "user")!.files;
const names = (chat: Conversation) => filesOf(chat).map(({ name }) => name);

test("files are shown at once, uploaded, and there after a reload", async () => {
  const key = newKey();
  const { chat, client, agentId } = await open(key);
  const sent = chat.send("What is this?", { files: [picture(), note("größe'(1)*.txt")] });
  expect(filesOf(chat)).toMatchObject([
    { name: "photo.png", mediaType: "image/png", bytes: PIXEL.length, file: expect.any(File) },
    { name: "größe'(1)*.txt", mediaType: "text/plain", bytes: 5 },
  ]);
  expect(filesOf(chat).map(({ id }) => id)).toEqual([undefined, undefined]);
  const parts: (number | undefined)[] = [];
  chat.subscribe(() => void parts.push(filesOf(chat)[0]?.progress));
  await sent;
  expect(statuses(chat.getSnapshot())[0]).toBe("complete");
  expect(parts).toContain(0);
  expect(parts.at(-1)).toBeUndefined();
  const reloaded = (await open(key, { agentId })).chat;
  await reloaded.load();
  expect(filesOf(reloaded)).toEqual([
    { id: filesOf(chat)[0]!.id, name: "photo.png", mediaType: "image/png", bytes: PIXEL.length },
    { id: filesOf(chat)[1]!.id, name: "größe'(1)*.txt", mediaType: "text/plain", bytes: 5 },
  ]);
  const content = await client.fetch(`/api/files/${filesOf(reloaded)[0]!.id}/content`);
  expect(Buffer.from(await content.arrayBuffer())).toEqual(PIXEL);
});

test("a message fails at once when the files of the day are used up", async () => {
  let uploads = 0;
  const full: Fetch = async (input, init) => {
    if (!isUpload(input, init)) return fetch(input, init);
    uploads += 1;
    const problem = { type: "", title: "Too many requests.", status: 429, code: "rate_limited", retryable: true, retryAfter: 3600 };
    return new Response(JSON.stringify(problem), { status: 429, headers: { "Content-Type": "application/problem+json" } });
  };
  const { chat, client } = await open(newKey(), { fetch: full });
  await chat.send("What is this?", { files: [picture()] });
  expect(statuses(chat.getSnapshot())).toEqual(["failed"]);
  const error = { code: "rate_limited", title: "No more files can be sent today.", retryable: false };
  expect(chat.getSnapshot()).toMatchObject({ error, messages: [{ error }] });
  expect(filesOf(chat)[0]).toMatchObject({ error: { code: "rate_limited" } });
  await expect(client.files.upload(picture())).rejects.toMatchObject({ code: "rate_limited", retryable: true });
  expect(uploads).toBe(2);
});

test("a message can be files alone, also those that were uploaded before", async () => {
  const key = newKey();
  const { chat, client, agentId } = await open(key);
  const uploaded = await client.files.upload(new Blob(["a,b"], { type: "text/csv" }), { name: "table.csv" });
  expect(uploaded).toMatchObject({ name: "table.csv", mediaType: "text/csv", bytes: 3 });
  await chat.send("", { files: [uploaded] });
  expect(texts(chat.getSnapshot())[0]).toBe("");
  expect(names(chat)).toEqual(["table.csv"]);
  const { messages } = await service.stored(agentId, key);
  expect(messages[0].files.map(({ id }: MessageFile) => id)).toEqual([uploaded.id]);
  // It is used now.
  await expect(client.files.delete(uploaded.id)).rejects.toMatchObject({ code: "file_in_use" });
  const other = await client.files.upload(note());
  await client.files.delete(other.id);
  expect((await service.call("GET", `/api/files/${other.id}`)).status).toBe(404);
});

test("an empty message without files is not shown", async () => {
  const { chat } = await open(newKey());
  await chat.send("");
  expect(chat.getSnapshot()).toMatchObject({ messages: [], status: "failed", error: { code: "validation_failed" } });
});

test("an upload whose response is lost is repeated, and the file is stored once", async () => {
  const ids: string[] = [];
  const losing: Fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!isUpload(input, init)) return response;
    ids.push((await response.json()).id);
    if (ids.length < 3) throw new TypeError("lost");
    return fetch(input, init);
  };
  const { chat } = await open(newKey(), { fetch: losing });
  await chat.send("Look", { files: [picture()] });
  expect(statuses(chat.getSnapshot())[0]).toBe("complete");
  expect(ids.length).toBeGreaterThan(2);
  expect(new Set(ids)).toEqual(new Set([filesOf(chat)[0]!.id]));
});

test("a file that the service rejects is named, and the others are not uploaded again", async () => {
  const uploads: string[] = [];
  let isPatched = false;
  const counting: Fetch = async (input, init) => {
    if (!isUpload(input, init)) return fetch(input, init);
    uploads.push(new Headers(init!.headers).get("Content-Disposition")!);
    return fetch(input, isPatched ? { ...init!, body: PIXEL } : init);
  };
  const { chat } = await open(newKey(), { fetch: counting });
  await chat.send("Two", { files: [picture(), new File(["MZ\0\0"], "tool.png", { type: "image/png" })] });
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { code: "file_type_not_accepted" } });
  expect(chat.getSnapshot().messages).toMatchObject([
    { text: "Two", status: "failed", files: [{ id: expect.any(String) }, { error: { code: "file_type_not_accepted", retryable: false } }] },
  ]);
  expect(uploads).toHaveLength(2);
  isPatched = true;
  await chat.regenerate();
  expect(statuses(chat.getSnapshot())[0]).toBe("complete");
  expect(names(chat)).toEqual(["photo.png", "tool.png"]);
  expect(filesOf(chat).map(({ error }) => error)).toEqual([undefined, undefined]);
  expect(uploads).toHaveLength(3);
});

/** Sends a message whose upload does not end. */
const interrupt = async (key: string, storage: KeyValueStorage) => {
  const hanging: Fetch = (input, init) => (isUpload(input, init) ? new Promise(() => {}) : fetch(input, init));
  const { chat, agentId } = await open(key, { fetch: hanging, storage });
  void chat.send("With a photo", { files: [picture()] });
  await until(chat, () => filesOf(chat)[0]?.progress === 0);
  chat.close();
  return agentId;
};

test("a conversation that was left during an upload continues it when it is opened again", async () => {
  const [key, storage] = [newKey(), memoryStorage()];
  const agentId = await interrupt(key, storage);
  const { chat } = await open(key, { storage, agentId });
  await chat.load();
  expect(statuses(chat.getSnapshot())[0]).toBe("complete");
  expect(names(chat)).toEqual(["photo.png"]);
  expect(await service.turns(agentId)).toEqual(["completed"]);
});

test("a message whose page was closed during an upload is kept as failed", async () => {
  const [key, storage] = [newKey(), memoryStorage()];
  const agentId = await interrupt(key, storage);
  // A page that is loaded again has nothing in its memory.
  vi.resetModules();
  const { createClient } = await import("../src/index.js");
  const reloaded = createClient({ url: service.url, apiKey: service.admin }).conversation({ agentId, key, storage });
  onTestFinished(reloaded.close);
  await reloaded.load();
  const title = "The page was closed before the file was uploaded.";
  expect(reloaded.getSnapshot()).toMatchObject({
    status: "failed",
    error: { title },
    messages: [{ text: "With a photo", status: "failed", files: [{ name: "photo.png", error: { title } }] }],
  });
  expect(filesOf(reloaded)[0]!.file).toBeUndefined();
  expect((await service.stored(agentId, key)).messages).toEqual([]);
});

test("a message whose page was closed after the upload is sent once, with its files", async () => {
  const [key, storage] = [newKey(), memoryStorage()];
  let posts = 0;
  const hanging: Fetch = async (input, init) => {
    if (isChat(input) && (posts += 1)) await fetch(input, init).then(() => new Promise(() => {}));
    return fetch(input, init);
  };
  const { chat, agentId } = await open(key, { fetch: hanging, storage });
  void chat.send("With a photo", { files: [picture()] });
  await expect.poll(() => posts).toBe(1);
  await expect.poll(async () => (await service.stored(agentId, key)).messages.length).toBeGreaterThan(0);
  const { chat: reloaded } = await open(key, { storage, agentId });
  await reloaded.load();
  expect(statuses(reloaded.getSnapshot())[0]).toBe("complete");
  expect(names(reloaded)).toEqual(["photo.png"]);
  expect((await service.stored(agentId, key)).turns).toHaveLength(1);
  expect(storage.values.size).toBe(0);
});

test("messages keep their order while one is uploaded", async () => {
  const slow: Fetch = async (input, init) => {
    if (isUpload(input, init)) await new Promise((resolve) => setTimeout(resolve, 300));
    return fetch(input, init);
  };
  const { chat } = await open(newKey(), { fetch: slow, agentId });
  await Promise.all([chat.send("one", { files: [note()] }), chat.send("two")]);
  expect(texts(chat.getSnapshot()).filter((_, index) => index % 2 === 0)).toEqual(["one", "two"]);
  expect(new Set(statuses(chat.getSnapshot()))).toEqual(new Set(["complete"]));
});

test("stop ends the wait before an upload is repeated", async () => {
  const busy: Fetch = async (input, init) => {
    if (!isUpload(input, init)) return fetch(input, init);
    const problem = { type: "", title: "Too many requests.", status: 429, code: "rate_limited", retryable: true, retryAfter: 30 };
    return new Response(JSON.stringify(problem), { status: 429, headers: { "Content-Type": "application/problem+json" } });
  };
  const { chat } = await open(newKey(), { fetch: busy });
  await chat.load();
  const sent = chat.send("Busy", { files: [picture()] });
  await until(chat, () => filesOf(chat)[0]?.progress === 0);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await chat.stop();
  await sent;
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { title: "The upload was stopped." } });
});

test("stop ends an upload, and the message can be sent again", async () => {
  let isSlow = true;
  const slow: Fetch = async (input, init) => {
    if (!isUpload(input, init) || !isSlow) return fetch(input, init);
    const { onProgress, signal } = init as RequestInit & { onProgress: (part: number) => void };
    return new Promise((_, reject) => {
      signal!.addEventListener("abort", () => reject(signal!.reason));
      setInterval(() => onProgress(0.5), 20).unref();
    });
  };
  const { chat, agentId } = await open(newKey(), { fetch: slow });
  await chat.load();
  const sent = chat.send("Too large", { files: [picture()] });
  await until(chat, () => filesOf(chat)[0]?.progress === 0.5);
  await chat.stop();
  await sent;
  expect(chat.getSnapshot()).toMatchObject({ status: "failed", error: { title: "The upload was stopped." } });
  expect(await service.turns(agentId)).toEqual([]);
  isSlow = false;
  await chat.regenerate();
  expect(statuses(chat.getSnapshot())[0]).toBe("complete");
  expect(names(chat)).toEqual(["photo.png"]);
});

test("an edited message keeps its files, or has others", async () => {
  const { chat } = await open(newKey());
  await chat.send("one", { files: [picture()] });
  const messageId = () => chat.getSnapshot().messages[0]!.id;
  const [file] = filesOf(chat);
  await chat.edit(messageId(), "uno");
  expect(texts(chat.getSnapshot())[0]).toBe("uno");
  expect(filesOf(chat)[0]!.id).toBe(file!.id);
  await chat.edit(messageId(), "due", { files: [note()] });
  expect(names(chat)).toEqual(["note.txt"]);
  await chat.edit(messageId(), "tre", { files: [] });
  expect(names(chat)).toEqual([]);
  await chat.load();
  expect(texts(chat.getSnapshot())[0]).toBe("tre");
});

test("an address of a file is asked for once while it is valid, and again after a failure", async () => {
  let calls = 0;
  const fake: Fetch = async (input, init) => {
    if (!/\/api\/files\/[^/]+\/link$/.test(String(input))) return fetch(input, init);
    calls += 1;
    const problem = { code: "file_not_found", status: 404, title: "", detail: "", type: "", retryable: false };
    if (calls === 1) return new Response(JSON.stringify(problem), { status: 404, headers: { "Content-Type": "application/problem+json" } });
    if (calls === 2) throw new TypeError("lost");
    const body = { url: `${String(input).replace(/link$/, "content")}?link=${calls}`, expiresAt: "2026-05-04T11:00:00.000Z" };
    return Response.json(body, { status: 201 });
  };
  const { client } = await open(newKey(), { fetch: fake });
  await expect(client.files.link("a")).rejects.toMatchObject({ code: "file_not_found" });
  const link = await client.files.link("a");
  expect(link).toEqual({ url: `${service.url}/api/files/a/content?link=3`, expiresAt: "2026-05-04T11:00:00.000Z" });
  expect(await Promise.all([client.files.link("a"), client.files.link("a")])).toEqual([link, link]);
  expect((await client.files.link("b")).url).toContain("/b/content?link=4");
});
