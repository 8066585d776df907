//! The names of files.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{MediaType, disposition};
use crate::text::is_blank;

/// The name of a file: one segment of a path, of 1 to 255 characters, without control characters and
/// characters that change the direction of text: with U+202E in front of it, `gpj.exe` is shown as
/// `exe.jpg`. Names of clients are made by [`FileName::new`]; those of stores are read as they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileName(String);

/// Longer endings are no extensions that must survive when a name is cut.
const MAX_EXTENSION_CHARACTERS: usize = 16;

impl FileName {
    /// The maximum length, in characters.
    pub const MAX_CHARACTERS: usize = 255;

    /// Makes a name of what a client sent: the last segment of a path with `/` or `\`, without the
    /// characters that names must not have, and cut before its extension. None if nothing is left.
    pub fn new(sent: &str) -> Option<Self> {
        let allowed: String = sent.chars().filter(|&it| is_allowed(it)).collect();
        let segment = allowed.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = segment.trim();
        let is_unusable = is_blank(name) || name.chars().all(|it| it == '.');
        (!is_unusable).then(|| Self(cut(name)))
    }

    /// Returns the name in a `Content-Disposition` header, if it has a usable one: that of
    /// `filename*`, or else that of `filename`.
    pub fn from_disposition(header: &[u8]) -> Option<Self> {
        disposition::names(header).find_map(|name| Self::new(&name))
    }

    /// Returns the name of a file that was sent without one, such as `file.png`.
    pub fn of_type(media_type: MediaType) -> Self {
        Self(format!("file.{}", media_type.extension()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns what follows the last dot, if there is something before it.
    pub fn extension(&self) -> Option<&str> {
        let (stem, extension) = self.0.rsplit_once('.')?;
        (!stem.is_empty() && !extension.is_empty()).then_some(extension)
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Returns `false` for control characters, separators of lines and paragraphs, and marks, embeddings,
/// overrides and isolates of direction.
fn is_allowed(letter: char) -> bool {
    let changes_direction = matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    !letter.is_control() && !changes_direction && !matches!(letter, '\u{2028}' | '\u{2029}')
}

/// Cuts a name that is too long, but keeps its extension.
fn cut(name: &str) -> String {
    if name.chars().count() <= FileName::MAX_CHARACTERS {
        return name.to_owned();
    }
    let extension = name.rfind('.').map(|dot| &name[dot..]);
    let extension = extension
        .filter(|it| it.chars().count() <= MAX_EXTENSION_CHARACTERS)
        .unwrap_or_default();
    let kept = FileName::MAX_CHARACTERS - extension.chars().count();
    let stem: String = name.chars().take(kept).collect();
    stem.trim_end().to_owned() + extension
}

#[cfg(test)]
mod tests;
