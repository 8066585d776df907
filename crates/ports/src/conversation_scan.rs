//! Listings of conversations by conditions that no index answers.

use std::collections::BTreeMap;

use domain::{Conversation, Listed, Rating, Timestamp};
use serde::Serialize;

use crate::{ConversationFilter, ConversationPosition};

/// The maximum number of conversations or turns that one scan looks at.
pub const SCAN_LENGTH: usize = 10_000;

/// Conditions that are checked on each conversation; members that are set must all hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationConditions {
    /// Only conversations whose last message is of this time or later.
    pub from: Option<Timestamp>,
    /// Only conversations whose last message is from before this time.
    pub to: Option<Timestamp>,
    /// Only conversations with these pairs in their metadata.
    pub metadata: BTreeMap<String, String>,
    /// Only conversations with a message that is rated so.
    pub rating: Option<RatingCondition>,
}

impl ConversationConditions {
    /// Returns whether a conversation meets those of them that can be judged without its ratings.
    pub fn match_apart_from_ratings(&self, conversation: &Conversation) -> bool {
        let last = conversation.last_message_at;
        self.from
            .is_none_or(|from| last.is_some_and(|last| last >= from))
            && self.to.is_none_or(|to| last.is_some_and(|last| last < to))
            && self
                .metadata
                .iter()
                .all(|(name, value)| conversation.metadata.get(name) == Some(value))
    }

    /// Returns whether all conversations meet them.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The condition that a message of a conversation has a rating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RatingCondition {
    /// The rating.
    pub rating: Rating,
    /// True if only the ratings of the conversation's user count.
    pub by_user: bool,
}

/// The order of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanOrder {
    /// Latest activity first.
    Activity,
    /// The conversation whose user has waited longest for staff first. Only those that wait.
    Waiting,
    /// By id, which never changes: no conversation is left out or repeated because it becomes active.
    Id,
}

/// A request for one page of the conversations that meet conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationScan {
    /// The conversations to list.
    pub filter: ConversationFilter,
    /// Further conditions on them.
    pub conditions: ConversationConditions,
    /// The order.
    pub order: ScanOrder,
    /// The position after which the page starts; `None` for the first page. The order by id ignores the key.
    pub after: Option<ConversationPosition>,
    /// The maximum number of conversations.
    pub limit: usize,
}

/// A page of a scan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScannedConversations {
    /// The conversations.
    pub items: Vec<Listed<Conversation>>,
    /// The position after which the next page starts; `None` if there is none.
    pub next: Option<ConversationPosition>,
}
