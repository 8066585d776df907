//! What an engine is shown of a conversation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Role;

/// How much of the conversation before this message the engine sees; both limits hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryLimits {
    /// Most messages. Default 40.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 0, maximum = 500, nullable = false)
    )]
    pub max_messages: Option<u32>,
    /// Most characters in all. Default 48000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 0, maximum = 1_000_000, nullable = false)
    )]
    pub max_characters: Option<u32>,
}

impl HistoryLimits {
    /// The limit on messages that takes effect.
    pub fn messages(&self) -> u32 {
        self.max_messages.unwrap_or(40)
    }

    /// The limit on characters that takes effect.
    pub fn characters(&self) -> u32 {
        self.max_characters.unwrap_or(48_000)
    }

    /// How many of these texts, newest first, fit both limits: whole ones, up to the first that
    /// does not fit.
    pub fn fitting<'a>(&self, newest_first: impl Iterator<Item = &'a str>) -> usize {
        let mut left = self.characters() as usize;
        let fits = |text: &&str| {
            let rest = left.checked_sub(text.chars().count());
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let most = self.messages() as usize;
        newest_first.take(most).take_while(fits).count()
    }
}

/// What was said in a message, without all that is known of it beside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Utterance {
    /// The message's place in its conversation.
    pub seq: i64,
    /// Who said it.
    pub role: Role,
    /// What was said.
    pub content: Arc<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitting(max_messages: u32, max_characters: u32, newest_first: &[&str]) -> usize {
        let limits = HistoryLimits {
            max_messages: Some(max_messages),
            max_characters: Some(max_characters),
        };
        limits.fitting(newest_first.iter().copied())
    }

    #[test]
    fn both_limits_hold_and_what_does_not_fit_hides_all_before_it() {
        let said = ["d", "ccc", "bb", "a"];
        assert_eq!(fitting(4, 7, &said), 4);
        assert_eq!(fitting(3, 7, &said), 3);
        assert_eq!(fitting(4, 6, &said), 3);
        assert_eq!(fitting(4, 3, &said), 1, "though `bb` would fit");
        assert_eq!(fitting(0, 7, &said), 0);
        assert_eq!(fitting(4, 0, &said), 0);
        assert_eq!(fitting(1, 2, &["é🦊"]), 1, "characters, not bytes");
    }

    #[test]
    fn without_limits_the_defaults_take_effect() {
        let limits = HistoryLimits::default();
        assert_eq!(limits.fitting(vec!["a"; 41].into_iter()), 40);
        let long = "a".repeat(48_000);
        assert_eq!(limits.fitting([&*long, "b"].into_iter()), 1);
    }
}
