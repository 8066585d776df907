//! Contents of files in JSON.

use std::fmt;

use base64::{display::Base64Display, engine::general_purpose::STANDARD};
use domain::MediaType;
use serde::{Serialize, Serializer};

use crate::prompt::Prompt;

/// A content in Base64. It is encoded while the JSON is written, because it may have many megabytes.
pub(crate) struct Base64Text<'a> {
    content: &'a [u8],
    /// The media type of a data URL; `None` for Base64 alone.
    media_type: Option<MediaType>,
}

impl<'a> Base64Text<'a> {
    pub(crate) const fn new(content: &'a [u8]) -> Self {
        Self {
            content,
            media_type: None,
        }
    }

    pub(crate) const fn data_url(media_type: MediaType, content: &'a [u8]) -> Self {
        Self {
            content,
            media_type: Some(media_type),
        }
    }
}

impl fmt::Display for Base64Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(media_type) = self.media_type {
            write!(formatter, "data:{};base64,", media_type.as_str())?;
        }
        Base64Display::new(self.content, &STANDARD).fmt(formatter)
    }
}

impl Serialize for Base64Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The room for all but the files. Texts beyond it only make the buffer grow.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// Returns the body of a request with the files of a prompt.
pub(crate) fn body(request: &impl Serialize, prompt: &Prompt) -> serde_json::Result<Vec<u8>> {
    // Without the room for files, the buffer would be copied while it grows, to up to twice the size.
    let mut body = match prompt.file_bytes() {
        0 => Vec::new(),
        bytes => Vec::with_capacity(bytes / 3 * 4 + MAX_TEXT_BYTES),
    };
    serde_json::to_writer(&mut body, request)?;
    Ok(body)
}
