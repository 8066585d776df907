//! The names that clients give to conversations.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The maximum length of a key.
pub const MAX_KEY_BYTES: usize = 128;

/// A client's own name for a conversation: 1 to 128 letters, digits and `._~:@-`, except `.` and
/// `..`, which URLs would not preserve.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(value_type = String))]
#[serde(try_from = "String", into = "String")]
pub struct ConversationKey(String);

/// The error for a text that is not a conversation key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 128 characters of A-Z, a-z, 0-9 and ._~:@-, and neither `.` nor `..`")]
pub struct MalformedConversationKey;

impl ConversationKey {
    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ConversationKey {
    type Err = MalformedConversationKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for ConversationKey {
    type Error = MalformedConversationKey;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._~:@-".contains(&byte);
        let has_length = (1..=MAX_KEY_BYTES).contains(&text.len());
        if !has_length || !text.bytes().all(is_allowed) || matches!(&*text, "." | "..") {
            return Err(MalformedConversationKey);
        }
        Ok(Self(text))
    }
}

impl From<ConversationKey> for String {
    fn from(key: ConversationKey) -> Self {
        key.0
    }
}

impl fmt::Display for ConversationKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_characters_that_urls_preserve_are_allowed() {
        for key in ["a", "chat:42@web", "...", "A-z_~.9", &"k".repeat(128)] {
            assert_eq!(key.parse::<ConversationKey>().unwrap().as_str(), key);
        }
        for text in [
            "",
            ".",
            "..",
            "a b",
            "a/b",
            "a%",
            "ä",
            "a\0",
            &"k".repeat(129),
        ] {
            assert!(text.parse::<ConversationKey>().is_err(), "{text}");
        }
    }
}
