//! The types of binary files by their first bytes.

use super::MediaType;

/// As many bytes at the beginning of a file as the signatures of all accepted types need, with room
/// for the first pages of an Ogg container, which tell sound from video.
pub(super) const HEAD_BYTES: usize = 4096;

/// The format that the first bytes of a file tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signature {
    /// A type that can be accepted.
    Known(MediaType),
    /// A container of sound and video that counts as sound when the client declares it so.
    Container(MediaType),
    /// Another type.
    Other(&'static str),
}

/// Recognises the beginning of a file.
pub(super) fn of(head: &[u8]) -> Option<Signature> {
    let found = infer::get(head)?.mime_type();
    let signature = match found {
        "audio/x-wav" => Signature::Known(MediaType::Wav),
        "audio/x-flac" => Signature::Known(MediaType::Flac),
        "audio/opus" => Signature::Known(MediaType::Ogg),
        "audio/m4a" => Signature::Known(MediaType::Mp4),
        "video/mp4" | "video/x-m4v" => Signature::Container(MediaType::Mp4),
        "video/webm" => Signature::Container(MediaType::Webm),
        _ => MediaType::known(found).map_or(Signature::Other(found), Signature::Known),
    };
    match signature {
        Signature::Known(MediaType::Ogg) if has_video(head) => Some(Signature::Other("video/ogg")),
        Signature::Known(media_type) if !is_complete(media_type, head) => None,
        _ => Some(signature),
    }
}

/// The signatures of `infer` are short: `GIF` is a word, and a PDF may begin after other data. Those of
/// the formats are longer.
fn is_complete(media_type: MediaType, head: &[u8]) -> bool {
    match media_type {
        MediaType::Png => head.starts_with(b"\x89PNG\r\n\x1a\n"),
        MediaType::Gif => head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a"),
        MediaType::Webp => head.starts_with(b"RIFF"),
        MediaType::Pdf => head.starts_with(b"%PDF-"),
        MediaType::Mpeg => head.starts_with(b"ID3") || is_frame(head),
        MediaType::Mp4 => head.get(4..8) == Some(b"ftyp"),
        _ => true,
    }
}

/// Returns `true` for a header of an MPEG frame with a valid bit rate and sampling rate.
fn is_frame(head: &[u8]) -> bool {
    head.get(2)
        .is_some_and(|rates| rates >> 4 != 0xf && rates & 0b1100 != 0b1100)
}

/// Returns `true` for an Ogg container with a Theora stream: the headers of all streams come first.
fn has_video(head: &[u8]) -> bool {
    head.windows(7).any(|it| it == b"\x80theora")
}
