import type { MessageFile } from "agent-service-client";
import { useFileUrl } from "agent-service-client/react";
import { useState } from "react";
import { useSession } from "../session/session.js";
import { Icon } from "../ui/icon.js";
import { isImage, sizeText } from "./size.js";

/** Returns an address of a file at the host of this page, which may be reached by another name than the public one. */
const useOwnUrl = (file: Pick<MessageFile, "id" | "file">): string | undefined => {
  const url = useFileUrl(useSession().service, file);
  if (url === undefined || url.startsWith("blob:")) return url;
  const { pathname, search } = new URL(url);
  return pathname + search;
};

const MessageFileView = ({ file }: { file: MessageFile }) => {
  const { name, mediaType, bytes } = file;
  const url = useOwnUrl(file);
  const [isBroken, setIsBroken] = useState(false);
  if (isImage(mediaType) && !isBroken) {
    return (
      <a className="file-image" href={url} target="_blank" rel="noopener noreferrer">
        {url === undefined ? <span className="muted small">{name}</span> : <img src={url} alt={name} onError={() => setIsBroken(true)} />}
      </a>
    );
  }
  return (
    <a className="file-link" href={url} target="_blank" rel="noopener noreferrer" download={name}>
      <Icon name="file" />
      <span className="truncate">{name}</span>
      <span className="small muted">{sizeText(bytes)}</span>
    </a>
  );
};

/** The files of a message: images, and links to all others. */
export const MessageFiles = ({ files = [] }: { files?: readonly MessageFile[] | undefined }) =>
  files.length > 0 && (
    <ul className="message-files" aria-label="Files">
      {files.map((file, index) => (
        <li key={file.id ?? index}>
          <MessageFileView file={file} />
        </li>
      ))}
    </ul>
  );

/** A small picture of an image, or a sign for a file of another type. */
export const Thumbnail = ({ file }: { file: Pick<MessageFile, "id" | "file" | "mediaType"> }) => {
  const url = useOwnUrl(file);
  return isImage(file.mediaType) && url !== undefined ? (
    <img className="thumbnail" src={url} alt="" />
  ) : (
    <span className="thumbnail">
      <Icon name="file" />
    </span>
  );
};
