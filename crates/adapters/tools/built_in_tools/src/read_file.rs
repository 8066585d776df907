//! The tool `read_file`: parts of the text files of a conversation.

use std::{ops::Range, sync::Arc};

use domain::{FileId, FileKind, StoredFile};
use futures::TryStreamExt as _;
use ports::{
    BlobError, BlobStore, FileRepository, ToolContext, ToolDefinition, ToolError, ToolHints,
};
use serde_json::{Value, json};

pub(crate) const NAME: &str = "read_file";
pub(crate) const ID: &str = "id";
pub(crate) const FROM: &str = "from";

const DESCRIPTION: &str = "Reads a text file of this conversation, at most 64 KiB at once. Returns `text` and \
    `next`: the position from which to go on, or null at the end.";

/// The maximum number of bytes of a text.
const MAX_BYTES: u64 = 64 * 1024;
/// The number of bytes of a character that may continue before or after a text.
const MAX_CONTINUATION: u64 = 3;

/// The files of the service.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) files: Arc<dyn FileRepository>,
    pub(crate) blobs: Arc<dyn BlobStore>,
}

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: NAME.to_owned(),
        description: DESCRIPTION.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                ID: {"type": "string", "description": "The id of the file"},
                FROM: {
                    "type": "integer",
                    "minimum": 0,
                    "description": "The position in bytes, 0 by default",
                },
            },
            "required": [ID],
            "additionalProperties": false,
        }),
        hints: ToolHints::READ_ONLY,
    }
}

impl Files {
    /// Reads the text of a file from a position on.
    pub(crate) async fn read(
        &self,
        id: &str,
        from: u64,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        let file = self.find(id, context).await?;
        let size = file.file.reference.bytes;
        let from = from.min(size);
        // A character more, whose beginning may belong to this part or to the next.
        let end = from.saturating_add(MAX_BYTES + MAX_CONTINUATION).min(size);
        let bytes = self.bytes(&file, from..end).await.map_err(|error| {
            let cause = "the content of the file cannot be read";
            tracing::warn!(%error, "{cause}");
            ToolError::Failed(cause.to_owned())
        })?;
        let (text, next) = part(&bytes, from, size);
        Ok(json!({"text": text, "next": next}).to_string())
    }

    /// Finds a text file of the conversation.
    async fn find(&self, id: &str, context: &ToolContext) -> Result<StoredFile, ToolError> {
        let unknown =
            || ToolError::InvalidArguments("no such file in this conversation".to_owned());
        let id: FileId = id.parse().map_err(|_malformed| unknown())?;
        let conversation = context.conversation_id.ok_or_else(unknown)?;
        let found = self.files.find(&context.tenant, &[id]).await;
        let found = found.map_err(|error| ToolError::Unavailable(error.into()))?;
        let mut found = found.into_iter();
        let file = found
            .find(|file| {
                // Those of notes are not for models.
                let mut uses = file.uses_by_messages();
                uses.any(|of| of.conversation_id == conversation)
            })
            .ok_or_else(unknown)?;
        match file.file.reference.media_type.kind() {
            Some(FileKind::Text) => Ok(file),
            _ => Err(ToolError::InvalidArguments(
                "the file is not a text".to_owned(),
            )),
        }
    }

    async fn bytes(&self, file: &StoredFile, range: Range<u64>) -> Result<Vec<u8>, BlobError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let pieces = self
            .blobs
            .read(file.blob, file.file.reference.bytes, range)
            .await?;
        pieces.map_ok(|piece| piece.to_vec()).try_concat().await
    }
}

/// Returns the text of the bytes from a position of a file of this size on, and the position of the next part. A
/// text begins and ends between characters.
fn part(bytes: &[u8], from: u64, size: u64) -> (&str, Value) {
    let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let skipped = bytes.iter().take_while(is_continuation).count();
    let rest = &bytes[skipped..];
    let max = usize::try_from(MAX_BYTES).unwrap_or(usize::MAX);
    let rest = &rest[..rest.len().min(max)];
    let text = match str::from_utf8(rest) {
        Ok(text) => text,
        // The rest of a character follows. Stored texts are UTF-8.
        Err(error) => str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(),
    };
    let next = from + (skipped + text.len()) as u64;
    let next = (next < size).then_some(next);
    (text, next.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a whole text part by part, as a model would.
    fn read_all(text: &str) -> String {
        let (bytes, size) = (text.as_bytes(), text.len() as u64);
        let (mut read, mut from) = (String::new(), 0);
        loop {
            let end = (from + MAX_BYTES + MAX_CONTINUATION).min(size);
            let range = usize::try_from(from).unwrap()..usize::try_from(end).unwrap();
            let (part, next) = part(&bytes[range], from, size);
            read.push_str(part);
            match next.as_u64() {
                Some(next) => {
                    assert!(
                        next > from && part.len() as u64 <= MAX_BYTES,
                        "{from} {next}"
                    );
                    from = next;
                }
                None => return read,
            }
        }
    }

    #[test]
    fn the_parts_of_a_text_are_the_whole_text() {
        for unit in ["a", "ä", "€", "🦊", "aä€🦊"] {
            let text = unit.repeat(150_000 / unit.len());
            assert!(read_all(&text) == text, "{unit}");
        }
        assert_eq!(read_all(""), "");
    }

    #[test]
    fn a_part_begins_after_a_character_that_began_before() {
        let text = "🦊 fox";
        let bytes = &text.as_bytes()[1..];
        assert_eq!(part(bytes, 1, text.len() as u64), (" fox", Value::Null));
    }

    proptest! {
        #[test]
        fn parts_of_any_text_are_texts(text in ".{0,80}", from in 0_usize..90) {
            let from = from.min(text.len());
            let (part, next) = part(&text.as_bytes()[from..], from as u64, text.len() as u64);
            prop_assert!(text.ends_with(part));
            prop_assert_eq!(next, Value::Null);
        }
    }
}
