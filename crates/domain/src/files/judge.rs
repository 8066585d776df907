//! The type of a file, judged by its content while it arrives.

use std::borrow::Cow;

use super::{
    AcceptedTypes, FileKind, FileName, MediaType,
    signature::{self, HEAD_BYTES, Signature},
    text_check::{NoText, TextCheck},
};

/// The reasons why a file is not accepted; their text is part of the response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    /// There is no content.
    #[error("the file is empty")]
    Empty,
    /// It should be text, but it is not valid UTF-8, or contains NUL.
    #[error("the file is declared or named as text, but it is not text in UTF-8")]
    NotUtf8,
    /// It should be text, but it begins as HTML, XML, SVG or PDF.
    #[error("the text begins as HTML, XML, SVG or PDF, which are not accepted as text")]
    Markup,
    /// An MP4 or WebM container without a declaration that it is sound.
    #[error(
        "the file is an MP4 or WebM container, which is accepted only as audio/mp4 or audio/webm"
    )]
    Video,
    /// It has a type that is not accepted.
    #[error("the file's content is {0}, which is not accepted")]
    NotAccepted(Cow<'static, str>),
    /// The scanner of the operator has found something in it.
    #[error("the scanner has found something in the file")]
    Rejected,
    /// Neither its content nor its declaration says what it is.
    #[error("the type of the file is unknown: neither its content nor its declared type tells it")]
    Unknown,
}

/// Judges one file in constant memory. The content decides about binary types; the declaration, or
/// else the name, decides which type of text a valid text is.
#[derive(Debug)]
pub struct TypeJudge {
    is_declared_as_sound: bool,
    text: Option<(MediaType, TextCheck)>,
    head: Vec<u8>,
}

impl TypeJudge {
    /// Begins with what the client says about the file: the value of `Content-Type`, with or without
    /// parameters, and the name.
    pub fn new(declared: Option<&str>, name: Option<&FileName>) -> Self {
        let declared = essence(declared.unwrap_or_default());
        let text = text_type(&declared, name);
        Self {
            is_declared_as_sound: declared.starts_with("audio/"),
            text: text.map(|media_type| (media_type, TextCheck::default())),
            head: Vec::new(),
        }
    }

    /// Reads the next chunk of the content.
    pub fn push(&mut self, chunk: &[u8]) {
        let missing = HEAD_BYTES - self.head.len();
        self.head.extend(&chunk[..missing.min(chunk.len())]);
        if let Some((_, check)) = &mut self.text {
            check.push(chunk);
        }
    }

    /// Judges the whole content.
    pub fn finish(self, accepted: &AcceptedTypes) -> Result<MediaType, FileRefusal> {
        let media_type = self.media_type()?;
        if accepted.contains(media_type) {
            return Ok(media_type);
        }
        Err(FileRefusal::NotAccepted(media_type.text()))
    }

    fn media_type(&self) -> Result<MediaType, FileRefusal> {
        if self.head.is_empty() {
            return Err(FileRefusal::Empty);
        }
        let text = self.text.as_ref();
        let checked = text.map(|(media_type, check)| (*media_type, check.finish()));
        if let Some((media_type, Ok(()))) = checked {
            return Ok(media_type);
        }
        match signature::of(&self.head) {
            Some(Signature::Known(media_type)) => Ok(media_type),
            Some(Signature::Container(media_type)) if self.is_declared_as_sound => Ok(media_type),
            Some(Signature::Container(_)) => Err(FileRefusal::Video),
            Some(Signature::Other(found)) => Err(FileRefusal::NotAccepted(found.into())),
            None => Err(match checked {
                Some((_, Err(NoText::Encoding))) => FileRefusal::NotUtf8,
                Some((_, Err(NoText::Markup))) => FileRefusal::Markup,
                _ => FileRefusal::Unknown,
            }),
        }
    }
}

/// Returns a media type in lower case, without parameters.
fn essence(declared: &str) -> String {
    let essence = declared.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// Returns the type that the file has if it is text.
fn text_type(declared: &str, name: Option<&FileName>) -> Option<MediaType> {
    match declared {
        // Windows declares CSV as the program that opens it.
        "" | "application/octet-stream" | "application/vnd.ms-excel" => {
            MediaType::of_text_extension(name?.extension()?)
        }
        _ => MediaType::known(declared).filter(|it| it.kind() == Some(FileKind::Text)),
    }
}

#[cfg(test)]
mod tests;
