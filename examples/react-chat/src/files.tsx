import type { Client, MessageFile } from "agent-service-client";
import { useFileUrl } from "agent-service-client/react";
import { useCallback, useEffect, useRef, useState } from "react";

/** A file of a message: an image, or a link. */
export const FileView = ({ service, file }: { service: Client; file: MessageFile }) => {
  const url = useFileUrl(service, file);
  const { name, mediaType, progress, error } = file;
  return (
    <a className="file" href={url} target="_blank" rel="noopener">
      {mediaType.startsWith("image/") && url ? <img src={url} alt={name} /> : name}
      {progress !== undefined && <progress value={progress} aria-label={`Upload of ${name}`} />}
      {error && <small>{error.title}</small>}
    </a>
  );
};

/** Returns the files of a form. A field without files has one that is empty. */
export const filesOf = (form: FormData): File[] => (form.getAll("files") as File[]).filter(({ size }) => size > 0);

/** The files of a form, which are chosen, dropped on the page, or pasted. */
export const Attach = ({ service }: { service: Client }) => {
  const field = useRef<HTMLInputElement>(null);
  const [files, setFiles] = useState<File[]>([]);
  const choose = useCallback((list: FileList) => {
    field.current!.files = list;
    setFiles([...list]);
  }, []);
  useEffect(() => {
    const listening = new AbortController();
    const receive = (event: Event, given: DataTransfer | null) => {
      if (!given?.types.includes("Files")) return;
      event.preventDefault();
      if (given.files.length > 0) choose(given.files);
    };
    addEventListener("dragover", (event) => receive(event, event.dataTransfer), listening);
    addEventListener("drop", (event) => receive(event, event.dataTransfer), listening);
    addEventListener("paste", (event) => receive(event, event.clipboardData), listening);
    field.current!.form!.addEventListener("reset", () => setFiles([]), listening);
    return () => listening.abort();
  }, [choose]);
  return (
    <>
      <label className="attach" title="Attach files">
        +<input ref={field} type="file" name="files" aria-label="Files" multiple onChange={({ target }) => setFiles([...target.files!])} />
      </label>
      {files.map((file) => (
        <FileView key={file.name} service={service} file={{ name: file.name, mediaType: file.type, bytes: file.size, file }} />
      ))}
      {files.length > 0 && (
        <button type="button" aria-label="Remove the files" onClick={() => choose(new DataTransfer().files)}>
          ✕
        </button>
      )}
    </>
  );
};
