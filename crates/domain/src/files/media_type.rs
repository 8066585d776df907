//! The media types of files.

use crate::open_enum::open_enum;

open_enum! {
    /// The media type of a file, as its content was judged.
    MediaType[64] {
        /// A PNG image.
        Png = "image/png",
        /// A JPEG image.
        Jpeg = "image/jpeg",
        /// A GIF image.
        Gif = "image/gif",
        /// A WebP image.
        Webp = "image/webp",
        /// A PDF document.
        Pdf = "application/pdf",
        /// MP3 sound.
        Mpeg = "audio/mpeg",
        /// WAVE sound.
        Wav = "audio/wav",
        /// Sound in an Ogg container.
        Ogg = "audio/ogg",
        /// Sound in an MP4 container.
        Mp4 = "audio/mp4",
        /// FLAC sound.
        Flac = "audio/flac",
        /// Sound in a WebM container.
        Webm = "audio/webm",
        /// Text without a format.
        Plain = "text/plain",
        /// Markdown.
        Markdown = "text/markdown",
        /// Comma-separated values.
        Csv = "text/csv",
        /// JSON; only its encoding is checked.
        Json = "application/json",
    }
}

/// The kind of a file: what an engine must accept to be sent one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A picture.
    Image,
    /// A PDF document.
    Pdf,
    /// Sound.
    Audio,
    /// Text in UTF-8, which every engine takes as a part of the message.
    Text,
}

/// The kinds of files that a model takes, besides texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileKinds {
    /// Pictures.
    pub image: bool,
    /// PDF documents.
    pub pdf: bool,
    /// Sound.
    pub audio: bool,
}

impl FileKinds {
    /// Returns the kinds that one or the other has.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            image: self.image || other.image,
            pdf: self.pdf || other.pdf,
            audio: self.audio || other.audio,
        }
    }

    /// Returns whether a model with these inputs takes files of a type. Models that take sound take WAVE and MP3.
    pub const fn takes(self, media_type: MediaType) -> bool {
        match media_type.kind() {
            Some(FileKind::Image) => self.image,
            Some(FileKind::Pdf) => self.pdf,
            Some(FileKind::Audio) => {
                self.audio && matches!(media_type, MediaType::Wav | MediaType::Mpeg)
            }
            Some(FileKind::Text) => true,
            None => false,
        }
    }
}

impl MediaType {
    /// Returns the kind; none for a type of a newer version.
    pub const fn kind(&self) -> Option<FileKind> {
        match self {
            Self::Png | Self::Jpeg | Self::Gif | Self::Webp => Some(FileKind::Image),
            Self::Pdf => Some(FileKind::Pdf),
            Self::Mpeg | Self::Wav | Self::Ogg | Self::Mp4 | Self::Flac | Self::Webm => {
                Some(FileKind::Audio)
            }
            Self::Plain | Self::Markdown | Self::Csv | Self::Json => Some(FileKind::Text),
            Self::Other(_) => None,
        }
    }

    /// Returns the usual extension of names, without the dot.
    pub const fn extension(&self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::Webp => "webp",
            Self::Pdf => "pdf",
            Self::Mpeg => "mp3",
            Self::Wav => "wav",
            Self::Ogg => "ogg",
            Self::Mp4 => "m4a",
            Self::Flac => "flac",
            Self::Webm => "webm",
            Self::Plain => "txt",
            Self::Markdown => "md",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Other(_) => "bin",
        }
    }

    /// Returns the type of text that the extension of a name stands for, in any case.
    pub fn of_text_extension(extension: &str) -> Option<Self> {
        let is_one_of = |known: &[&str]| known.iter().any(|it| extension.eq_ignore_ascii_case(it));
        match () {
            () if is_one_of(&["txt", "text", "log"]) => Some(Self::Plain),
            () if is_one_of(&["md", "markdown"]) => Some(Self::Markdown),
            () if is_one_of(&["csv"]) => Some(Self::Csv),
            () if is_one_of(&["json"]) => Some(Self::Json),
            () => None,
        }
    }

    /// Returns `true` if a browser may show the content in place. Everything else is an attachment.
    pub const fn is_inline(&self) -> bool {
        matches!(self.kind(), Some(FileKind::Image | FileKind::Audio))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_and_sound_are_shown_in_place() {
        for media_type in MediaType::ALL {
            let text = media_type.as_str();
            let is_inline = text.starts_with("image/") || text.starts_with("audio/");
            assert_eq!(media_type.is_inline(), is_inline, "{text}");
            assert!(media_type.kind().is_some(), "{text}");
        }
    }

    #[test]
    fn a_type_of_a_newer_version_is_an_attachment_of_no_kind() {
        let newer = MediaType::read("image/svg+xml");
        assert_eq!(newer.as_str(), "image/svg+xml");
        assert_eq!(newer.kind(), None);
        assert!(!newer.is_inline());
        assert_eq!(newer.extension(), "bin");
    }

    #[test]
    fn extensions_are_those_of_one_type() {
        let extensions = MediaType::ALL.iter().map(MediaType::extension);
        let distinct: std::collections::BTreeSet<_> = extensions.collect();
        assert_eq!(distinct.len(), MediaType::ALL.len());
        for media_type in MediaType::ALL {
            let of_text = MediaType::of_text_extension(&media_type.extension().to_uppercase());
            let is_text = media_type.kind() == Some(FileKind::Text);
            assert_eq!(of_text, is_text.then_some(*media_type));
        }
    }
}
