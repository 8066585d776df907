import type { AppendMessage, AttachmentAdapter, CompleteAttachment } from "@assistant-ui/react";
import { useEffect, useState } from "react";
import type { Client } from "../index.js";
import type { ConversationMessage, MessageFile } from "../message.js";
import { randomId } from "../random-id.js";
import { RENEWED } from "../renewed.js";

/** The addresses of files, by their ids. */
export type Urls = Readonly<Record<string, string>>;

const isImage = (mediaType: string): boolean => mediaType.startsWith("image/");

/** Accepts all files: the conversation uploads them when the message is sent, and the service judges them. */
export const attachmentAdapter: AttachmentAdapter = {
  accept: "*",
  add: async ({ file }) => ({
    id: randomId(),
    type: isImage(file.type) ? "image" : "document",
    name: file.name,
    contentType: file.type,
    file,
    status: { type: "requires-action", reason: "composer-send" },
  }),
  send: async (attachment) => ({ ...attachment, content: [], status: { type: "complete" } }),
  remove: async () => {},
};

/** Returns a file as a part of a message; none until its address is known. */
export const filePart = ({ id = "", name: filename, mediaType }: MessageFile, urls: Urls): CompleteAttachment["content"] => {
  const url = urls[id];
  if (!url) return [];
  return [isImage(mediaType) ? { type: "image", image: url, filename } : { type: "file", data: url, mimeType: mediaType, filename }];
};

/** Returns a file of the user. What this page has sent has its content, as in the composer. */
export const attachmentOf = (file: MessageFile, index: number, urls: Urls): CompleteAttachment => ({
  id: String(index),
  type: isImage(file.mediaType) ? "image" : "document",
  name: file.name,
  contentType: file.mediaType,
  content: filePart(file, urls),
  status: { type: "complete" },
  ...(file.file && { file: file.file as File }),
});

/** Returns the files of a message of the composer; of an edited message, `known` are those that it had. */
export const filesOf = ({ attachments = [] }: AppendMessage, known: readonly MessageFile[] = []): (MessageFile | File)[] =>
  attachments.flatMap(({ id, file }) => known[Number(id)] ?? file ?? []);

/** Returns the ids of the files that this page does not have. */
export const idsOf = (messages: readonly ConversationMessage[]): string[] =>
  messages.flatMap(({ files }) => files.flatMap(({ id, file }) => (id && !file ? id : [])));

/** Returns the addresses of files, without those of files that cannot be read. */
export const urlsOf = async (client: Client, ids: readonly string[]): Promise<Urls> => {
  const urls: Record<string, string> = {};
  const find = async (id: string) => {
    urls[id] = (await client.files.link(id)).url;
  };
  const warn = (error: unknown) => console.warn("A file cannot be shown", error);
  await Promise.all(ids.map((id) => find(id).catch(warn)));
  return urls;
};

/** Returns the addresses of the files of messages, which are replaced before they expire. */
export const useUrls = (client: Client, messages: readonly ConversationMessage[]): Urls => {
  const [urls, setUrls] = useState<Urls>({});
  const ids = idsOf(messages).join();
  useEffect(() => {
    if (!ids) return;
    let isCurrent = true;
    const renew = () => urlsOf(client, ids.split(",")).then((found) => isCurrent && setUrls(found));
    void renew();
    const timer = setInterval(renew, RENEWED);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [client, ids]);
  return urls;
};
