//! The part of a conversation that an engine receives.

pub mod assembly;
pub mod past_calls;
pub mod steps;

use std::sync::Arc;

use bytestring::ByteString;
use serde::{Deserialize, Serialize};

use self::past_calls::{PastCalls, PastEnding};
use crate::{FileReference, Role, UnknownMembers};

/// Limits of the conversation history that the engine receives; all apply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct HistoryLimits {
    /// Maximum number of messages. Default 40.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 0, maximum = 500, nullable = false)
    )]
    pub max_messages: Option<u32>,
    /// Maximum number of characters in all messages, tool calls and results. Default 48000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 0, maximum = 1_000_000, nullable = false)
    )]
    pub max_characters: Option<u32>,
    /// Whether the engine receives the tool calls of earlier turns with the first 4 KiB of each result.
    /// Default true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub tool_results: Option<bool>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

impl HistoryLimits {
    /// Returns the effective limit on messages.
    pub fn messages(&self) -> u32 {
        self.max_messages.unwrap_or(40)
    }

    /// Returns the effective limit on characters.
    pub fn characters(&self) -> u32 {
        self.max_characters.unwrap_or(48_000)
    }

    /// Returns whether calls of earlier turns are part of the history. Those that may have acted in turns
    /// without a reply are so in any case.
    pub fn has_tool_results(&self) -> bool {
        self.tool_results.unwrap_or(true)
    }

    /// Returns the number of texts, newest first, that fit both limits. Only whole texts count, up
    /// to the first that does not fit.
    pub fn fitting<'a>(&self, newest_first: impl Iterator<Item = &'a str> + Clone) -> usize {
        let newest = newest_first.take(self.messages() as usize);
        let mut left = self.characters() as usize;
        // A text has at most as many characters as bytes, and bytes need not be counted.
        if newest.clone().map(str::len).sum::<usize>() <= left {
            return newest.count();
        }
        let fits = |text: &&str| {
            let rest = left.checked_sub(text.chars().count());
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        newest.take_while(fits).count()
    }
}

/// A message of the history, with only the data that engines need.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryMessage {
    /// The message's position in its conversation.
    pub seq: i64,
    /// The author of the message.
    pub role: Role,
    /// The text of the message; of one that staff has written, after the name of the author.
    pub content: ByteString,
    /// The files of the message.
    pub files: Vec<FileReference>,
    /// True if staff has written it in place of the agent.
    pub is_of_staff: bool,
    /// The tool calls for the reply, with an agent's message; with a user's message, those of a turn whose
    /// reply is not part of the history.
    pub calls: Option<Arc<PastCalls>>,
}

impl HistoryMessage {
    /// Creates a message without tool calls.
    pub fn new(seq: i64, role: Role, content: impl Into<ByteString>) -> Self {
        Self {
            seq,
            role,
            content: content.into(),
            files: Vec::new(),
            is_of_staff: false,
            calls: None,
        }
    }

    /// Creates a message that staff has written in place of the agent.
    pub fn of_staff(seq: i64, name: &str, content: &str) -> Self {
        Self {
            is_of_staff: true,
            ..Self::new(seq, Role::Agent, format!("{name}: {content}"))
        }
    }

    /// Returns whether it is a superseded message, which is only shown because tools were called for it.
    pub fn is_withdrawn(&self) -> bool {
        let ending = self.calls.as_ref().and_then(|calls| calls.ending);
        ending == Some(PastEnding::Withdrawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitting(max_messages: u32, max_characters: u32, newest_first: &[&str]) -> usize {
        let limits = HistoryLimits {
            max_messages: Some(max_messages),
            max_characters: Some(max_characters),
            ..HistoryLimits::default()
        };
        limits.fitting(newest_first.iter().copied())
    }

    #[test]
    fn both_limits_apply_and_a_message_that_does_not_fit_hides_all_before_it() {
        let texts = ["d", "ccc", "bb", "a"];
        assert_eq!(fitting(4, 7, &texts), 4);
        assert_eq!(fitting(3, 7, &texts), 3);
        assert_eq!(fitting(4, 6, &texts), 3);
        assert_eq!(fitting(4, 3, &texts), 1, "though `bb` would fit");
        assert_eq!(fitting(0, 7, &texts), 0);
        assert_eq!(fitting(4, 0, &texts), 0);
        assert_eq!(fitting(1, 2, &["é🦊"]), 1, "characters, not bytes");
    }

    #[test]
    fn absent_limits_have_defaults() {
        let limits = HistoryLimits::default();
        assert_eq!(limits.fitting(vec!["a"; 41].into_iter()), 40);
        let long = "a".repeat(48_000);
        assert_eq!(limits.fitting([&*long, "b"].into_iter()), 1);
    }
}
