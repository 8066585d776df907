import { Button, IconButton } from "../ui/button.js";
import { Icon } from "../ui/icon.js";
import { describe } from "../ui/notice.js";
import { Thumbnail } from "./message-files.js";
import { sizeText } from "./size.js";
import { type Attachment, type Attachments, canRetry } from "./use-attachments.js";

const State = ({ attachment: { name, bytes, progress, stored, error } }: { attachment: Attachment }) => {
  if (error !== undefined) {
    const { title, detail } = describe(error);
    return (
      <span className="fault" role="alert">
        {title} {detail !== title && detail}
      </span>
    );
  }
  if (stored !== undefined) return <span className="small muted">{sizeText(bytes)}</span>;
  return <progress max={1} value={progress} aria-label={`Upload of ${name}`} />;
};

interface AttachmentListProps extends Pick<Attachments, "attachments" | "remove" | "retry"> {
  label?: string;
}

/** The files of what is sent next, each with its preview, the progress of its upload, or why that has failed. */
export const AttachmentList = ({ attachments, remove, retry, label = "Files of the message" }: AttachmentListProps) =>
  attachments.length > 0 && (
    <ul className="attachments" aria-label={label}>
      {attachments.map((attachment) => (
        <li key={attachment.key} className="attachment">
          <Thumbnail file={{ id: attachment.stored?.id, file: attachment.file, mediaType: attachment.mediaType }} />
          <span className="attachment-text">
            <span className="truncate" dir="auto">
              {attachment.name}
            </span>
            <State attachment={attachment} />
          </span>
          {canRetry(attachment.error) && (
            <Button className="small-button" aria-label={`Try again: ${attachment.name}`} onClick={() => retry(attachment)}>
              Try again
            </Button>
          )}
          <IconButton label={`Remove ${attachment.name}`} onClick={() => remove(attachment)}>
            <Icon name="close" size={16} />
          </IconButton>
        </li>
      ))}
    </ul>
  );
