//! Settings of conversations.

use std::time::Duration;

use domain::{config::RETENTION, period::Period};

use super::values::Values;

/// Settings of conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationSettings {
    /// `CONVERSATIONS__RETENTION`: the time after its last message for which a conversation is kept; `None` if
    /// it is kept for good.
    pub retention: Option<Duration>,
}

impl ConversationSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let expected = "a whole number followed by s, m, h or d, from 1m to 3650d";
        let parse = |text: &str| Period::parse_in(text, RETENTION);
        let retention = values.read_optional("CONVERSATIONS__RETENTION", expected, parse);
        Self {
            retention: retention.map(|period| period.0),
        }
    }
}
