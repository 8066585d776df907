import { ConnectionError, type MessageFile, ProblemError, randomId, type StoredFile } from "agent-service-client";
import { type ClipboardEvent, useEffect, useRef, useState } from "react";
import { useSession } from "../session/session.js";

/** A file of the message that is sent next. It is uploaded as soon as it is chosen. */
export interface Attachment {
  /** Names it on the page, and its upload. */
  key: string;
  name: string;
  mediaType: string;
  bytes: number;
  /** The content, if it was chosen on this page. */
  file?: Blob | undefined;
  /** The part that was sent, from 0 to 1. */
  progress: number;
  stored?: MessageFile | StoredFile | undefined;
  error?: unknown;
}

/** The number of files that a message can have. */
const MAX_FILES = 8;

const tooLarge = (limit: number) => ({
  code: "body_too_large",
  title: "The file is too large.",
  detail: `At most ${(limit / 2 ** 20).toLocaleString("en", { maximumFractionDigits: 1 })} MiB are accepted.`,
  retryable: false,
});
const tooMany = { code: "validation_failed", title: `A message has at most ${MAX_FILES} files.`, detail: "", retryable: false };

/** Returns whether another attempt can succeed. */
export const canRetry = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ProblemError && (error.retryable || error.status === 401));

/** The files of the message that is sent next. */
export const useAttachments = () => {
  const { service, limits } = useSession();
  const [attachments, setAttachments] = useState<readonly Attachment[]>([]);
  /** One upload follows the other, and ends when its file is removed. */
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const uploads = useRef(new Map<string, AbortController>());
  const change = (key: string, changed: Partial<Attachment>) =>
    setAttachments((known) => known.map((attachment) => (attachment.key === key ? { ...attachment, ...changed } : attachment)));

  const upload = ({ key, name, file }: Attachment) => {
    if (file === undefined) return;
    const stopping = new AbortController();
    uploads.current.set(key, stopping);
    change(key, { progress: 0, error: undefined });
    const onProgress = (progress: number) => change(key, { progress });
    last.current = last.current.then(async () => {
      if (stopping.signal.aborted) return;
      try {
        const stored = await service.files.upload(file, { name, signal: stopping.signal, idempotencyKey: key, onProgress });
        // It was removed while its last bytes arrived.
        if (stopping.signal.aborted) await service.files.delete(stored.id);
        else change(key, { stored, mediaType: stored.mediaType, progress: 1 });
      } catch (error) {
        if (!stopping.signal.aborted) change(key, { error });
      }
    });
  };

  const add = (files: readonly File[]) => {
    const added = files.map((file, index): Attachment => {
      const isTooMany = attachments.length + index >= MAX_FILES;
      const error = isTooMany ? tooMany : file.size > limits.sizes.fileBytes ? tooLarge(limits.sizes.fileBytes) : undefined;
      return { key: randomId(), name: file.name, mediaType: file.type, bytes: file.size, file, progress: 0, error };
    });
    setAttachments((known) => [...known, ...added]);
    for (const attachment of added) if (attachment.error === undefined) upload(attachment);
  };

  /** Takes the files of what is pasted, unless it is text. */
  const paste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    add([...event.clipboardData.files]);
  };

  const remove = ({ key, stored }: Attachment) => {
    uploads.current.get(key)?.abort();
    setAttachments((known) => known.filter((attachment) => attachment.key !== key));
    // Otherwise, and if this fails, the service deletes it after a day. A file of a message stays.
    if (stored?.id !== undefined) service.files.delete(stored.id).catch(() => {});
  };

  /** Returns the files for a message, and empties the list. */
  const take = (): MessageFile[] => {
    setAttachments([]);
    return attachments.flatMap(({ stored, file }) => (stored === undefined ? [] : [{ ...referenceOf(stored), file }]));
  };

  /** Puts the files of a rejected message back. */
  const restore = (files: readonly MessageFile[]) => {
    const restored = files.map(
      (file): Attachment => ({ ...referenceOf(file), key: randomId(), file: file.file, progress: 1, stored: file }),
    );
    setAttachments((known) => [...restored, ...known]);
  };

  useEffect(() => {
    const { current } = uploads;
    return () => {
      for (const upload of current.values()) upload.abort();
    };
  }, []);

  const isReady = attachments.length <= MAX_FILES && attachments.every(({ stored }) => stored !== undefined);
  const ids = attachments.flatMap(({ stored }) => stored?.id ?? []);
  return { attachments, ids, isReady, add, paste, remove, retry: upload, take, restore };
};

export type Attachments = ReturnType<typeof useAttachments>;

const referenceOf = ({ id, name, mediaType, bytes }: MessageFile | StoredFile) => ({ id, name, mediaType, bytes });
