//! The files that a client sends with a message: those that it has uploaded before, and those that its
//! request contains.

use std::{fmt, sync::Arc};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use domain::{
    ContentDigest, FaultCode, FileId, FileName, FileReference, InputFault, UploadQuota,
    file::MAX_FILES,
};
use futures::stream;
use ports::BlobStream;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use super::command::ChatError;
use crate::FileUpload;

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The number of bytes of a content that are hashed at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// A part of a message that is a file, as a client of a protocol sends it.
#[derive(Debug)]
pub enum FilePart {
    /// A file of this service.
    Stored(FileId),
    /// A file on the web.
    Web(WebAddress),
    /// A file that the request contains.
    Data {
        /// The media type that the client declares.
        media_type: Option<String>,
        /// The name, as the client sends it.
        name: Option<String>,
        /// The content.
        base64: String,
    },
}

/// Memory that is in use until the last of its holders is dropped.
pub type HeldMemory = Arc<dyn Send + Sync>;

/// A file of a message. Its serialized form is a part of the fingerprints of messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum AttachedFile {
    /// A stored file.
    Stored(FileId),
    /// A file that becomes a stored one with the message.
    Sent(SentFile),
    /// A file on the web, which is fetched and becomes a stored one with the message.
    Web(WebAddress),
}

/// The address of a file on the web.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebAddress {
    /// The address.
    pub url: String,
    /// The media type that the client declares, if the server declares none.
    pub media_type: Option<String>,
    /// The name that the client gives.
    pub name: Option<String>,
}

/// A file that a request contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentFile {
    sha256: ContentDigest,
    #[serde(flatten)]
    pub(super) file: NewFile,
}

/// A file that is not stored yet.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewFile {
    pub(super) name: Option<FileName>,
    pub(super) media_type: Option<String>,
    #[serde(skip)]
    pub(super) content: Bytes,
}

impl fmt::Debug for NewFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("NewFile");
        shown
            .field("bytes", &self.content.len())
            .finish_non_exhaustive()
    }
}

impl NewFile {
    /// Returns what the client says about it.
    pub(super) fn declared(&self) -> (Option<&str>, Option<&FileName>) {
        (self.media_type.as_deref(), self.name.as_ref())
    }

    /// Returns its content in pieces.
    pub(super) fn pieces(&self) -> BlobStream {
        let content = self.content.clone();
        let starts = (0..content.len()).step_by(PIECE_BYTES);
        let pieces = starts.map(move |start| {
            let end = content.len().min(start + PIECE_BYTES);
            Ok(content.slice(start..end))
        });
        Box::pin(stream::iter(pieces))
    }

    /// Returns it as an upload.
    pub(super) fn into_upload(self, quota: UploadQuota) -> FileUpload {
        FileUpload {
            content: self.pieces(),
            name: self.name,
            declared_type: self.media_type,
            quota,
        }
    }
}

/// A content with the memory that it occupies.
struct HeldContent {
    content: Vec<u8>,
    _memory: Option<HeldMemory>,
}

/// Returns a content that holds `memory` until its last copy is dropped.
pub(super) fn held(content: Vec<u8>, memory: Option<HeldMemory>) -> Bytes {
    Bytes::from_owner(HeldContent {
        content,
        _memory: memory,
    })
}

impl AsRef<[u8]> for HeldContent {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

impl AttachedFile {
    /// Reads the parts of a message. The contents hold `memory`, if there is one. A fault names its part as
    /// `/files/<index>`.
    pub async fn read(
        parts: Vec<FilePart>,
        max_bytes: u32,
        memory: Option<HeldMemory>,
    ) -> Result<Vec<Self>, ChatError> {
        if parts.len() > MAX_FILES {
            let detail = format!("at most {MAX_FILES} files in a message");
            let pointer = format!("/files/{MAX_FILES}");
            let fault = InputFault::new(pointer, FaultCode::TooMany, detail);
            return Err(ChatError::Invalid(vec![fault]));
        }
        let is_data = |part: &FilePart| matches!(part, FilePart::Data { .. });
        if !parts.iter().any(is_data) {
            return read_all(parts, max_bytes, memory.as_ref()).map_err(ChatError::Invalid);
        }
        // To decode and to hash a long content takes some ten milliseconds.
        let reading = spawn_blocking(move || read_all(parts, max_bytes, memory.as_ref()));
        let read = reading
            .await
            .map_err(|_panic| domain::ProblemCode::Internal)?;
        read.map_err(ChatError::Invalid)
    }

    /// Returns what distinguishes it from other files.
    pub fn identity(&self) -> String {
        match self {
            Self::Stored(id) => id.to_string(),
            Self::Sent(file) => file.sha256.to_string(),
            Self::Web(address) => address.url.clone(),
        }
    }

    /// Returns whether the files of a stored message may be those that a client attaches: of files that it sends,
    /// only their sizes and names are compared, and of those on the web nothing.
    pub fn may_be_all(attached: &[Self], stored: &[FileReference]) -> bool {
        let mut pairs = attached.iter().zip(stored);
        attached.len() == stored.len() && pairs.all(|(attached, stored)| attached.may_be(stored))
    }

    fn may_be(&self, stored: &FileReference) -> bool {
        match self {
            Self::Stored(id) => *id == stored.id,
            Self::Sent(file) => {
                let NewFile { name, content, .. } = &file.file;
                let name = name.as_ref();
                content.len() as u64 == stored.bytes
                    && name.is_none_or(|name| name.as_str() == stored.name)
            }
            Self::Web(_) => true,
        }
    }

    /// Returns whether it becomes a stored file with the message.
    pub(super) const fn is_new(&self) -> bool {
        !matches!(self, Self::Stored(_))
    }

    /// Drops the content.
    pub(super) fn forget_content(&mut self) {
        if let Self::Sent(file) = self {
            file.file.content = Bytes::new();
        }
    }
}

fn read_all(
    parts: Vec<FilePart>,
    max_bytes: u32,
    memory: Option<&HeldMemory>,
) -> Result<Vec<AttachedFile>, Vec<InputFault>> {
    let mut faults = Vec::new();
    let mut files = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        let read = match part {
            FilePart::Stored(id) => Ok(AttachedFile::Stored(id)),
            FilePart::Data {
                media_type,
                name,
                base64,
            } => decode(base64, max_bytes).map(|content| {
                AttachedFile::Sent(SentFile {
                    sha256: ContentDigest(Sha256::digest(&content).into()),
                    file: NewFile {
                        name: name.as_deref().and_then(FileName::new),
                        media_type,
                        content: held(content, memory.cloned()),
                    },
                })
            }),
            FilePart::Web(address) => Ok(AttachedFile::Web(address)),
        };
        match read {
            Ok(file) => files.push(file),
            Err((code, detail)) => {
                let pointer = format!("/files/{index}");
                faults.push(InputFault::new(pointer, code, detail));
            }
        }
    }
    if faults.is_empty() {
        return Ok(files);
    }
    Err(faults)
}

fn decode(mut base64: String, max_bytes: u32) -> Result<Vec<u8>, (FaultCode, String)> {
    if base64.contains(|it: char| it.is_ascii_whitespace()) {
        base64.retain(|it| !it.is_ascii_whitespace());
    }
    let content = BASE64.decode(base64);
    let content = content.map_err(|_error| (FaultCode::BadFormat, "must be base64".to_owned()))?;
    if content.len() > max_bytes as usize {
        let detail = format!("a file of at most {max_bytes} bytes");
        return Err((FaultCode::TooLarge, detail));
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
