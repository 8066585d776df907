import type { Client, ConversationMessage, MessageFile } from "agent-service-client";
import { useFileUrl } from "agent-service-client/react";
import { useEffect, useRef, useState } from "react";

/** Sends what a form has. */
export type Run = (text: string, files: File[]) => Promise<unknown>;

/** The text and the files of a form that could not be sent, and the reason. */
export type Failed = { title?: string; text?: string; files?: File[] };

/** A file of a message: an image, or a link. */
const FileView = ({ service, file }: { service: Client; file: MessageFile }) => {
  const url = useFileUrl(service, file);
  return (
    <a className="file" href={url} target="_blank" rel="noopener">
      {url && file.mediaType.startsWith("image/") ? <img src={url} alt={file.name} /> : file.name}
    </a>
  );
};

/** The files of a message. */
export const Files = ({ service, of: { files } }: { service: Client; of: ConversationMessage }) =>
  files.map((file, index) => <FileView key={index} service={service} file={file} />);

/** The fields of a message, of which one can be empty. They keep what could not be sent. */
export const Fields = ({ text, files }: Failed) => {
  const field = useRef<HTMLInputElement>(null);
  const [count, setCount] = useState(0);
  useEffect(() => {
    const { form } = field.current!;
    const empty = () => setCount(0);
    form!.addEventListener("reset", empty);
    return () => form!.removeEventListener("reset", empty);
  }, []);
  useEffect(() => {
    const kept = new DataTransfer();
    for (const file of files ?? []) kept.items.add(file);
    field.current!.files = kept.files;
    setCount(kept.files.length);
  }, [files]);
  return (
    <>
      <input name="text" aria-label="Message" placeholder="Message" defaultValue={text} autoComplete="off" autoFocus required={!count} />
      <label className="attach" title="Attach files">
        +{count || ""}
        <input ref={field} type="file" name="files" aria-label="Files" multiple onChange={({ target }) => setCount(target.files!.length)} />
      </label>
    </>
  );
};

export const textOf = (form: FormData): string => String(form.get("text"));

/** Returns the files of a form. A field without files has one that is empty. */
export const filesOf = (form: FormData): File[] => (form.getAll("files") as File[]).filter(({ size }) => size > 0);

/** The ids of files that are uploaded already. */
const stored = new WeakMap<File, string>();

/** Uploads the files of a message, one after the other, before it is sent with their ids. */
export const uploadFirst =
  (service: Client, send: (text: string, ids: string[]) => Promise<unknown>): Run =>
  async (text, files) => {
    const ids: string[] = [];
    for (const file of files) {
      const rejected = ({ title }: Error & { title?: string }) => Promise.reject({ title: `${file.name}: ${title}` });
      const id = stored.get(file) ?? (await service.files.upload(file).catch(rejected)).id;
      stored.set(file, id);
      ids.push(id);
    }
    return send(text, ids);
  };
