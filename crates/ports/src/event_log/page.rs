//! The rows of a page, and the decision what they show.

use std::collections::HashMap;

use domain::{
    Agent, Conversation, ConversationId, Feedback, Message, PrincipalId, Seq, TurnId,
    event_data::{OmittedToolData, omit_large_tool_data},
};

use super::{EventPage, EventQuery, LogBounds};
use crate::{
    RepositoryError,
    write_store::{EventRow, FeedbackKey, TurnRow},
};

/// Decides what the events of a page show. A store asks it while it reads the page.
pub trait EventDecision: Send + Sync {
    /// Selects the rows of the page and the content to read for them.
    fn select(&self, scan: EventScan, query: &EventQuery) -> SelectedEvents;

    /// Joins the content to the rows. Content that is missing counts as deleted.
    fn join(
        &self,
        selected: SelectedEvents,
        content: EventContent,
    ) -> Result<EventPage, RepositoryError>;
}

/// A row of the log, and whether the entities that it refers to still exist.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRecord {
    /// The row.
    pub row: EventRow,
    /// The principal that sent the message of its turn, if the turn still exists.
    pub started_by: Option<PrincipalId>,
    /// True if its agent exists.
    pub agent_exists: bool,
    /// True if its conversation exists; false if it refers to none.
    pub conversation_exists: bool,
    /// The size of the content to join, in bytes as stored.
    pub bytes: i64,
}

/// The result of one scan of the log.
#[derive(Debug)]
pub struct EventScan {
    /// The rows that passed the filters, by position.
    pub records: Vec<EventRecord>,
    /// The bounds of the log.
    pub bounds: LogBounds,
    /// The position up to which the log was scanned.
    pub until: Seq,
}

/// The rows of a page.
#[derive(Debug)]
pub struct SelectedEvents {
    /// The rows, by position.
    pub records: Vec<EventRecord>,
    /// The bounds of the log.
    pub bounds: LogBounds,
    /// The position after which the next page starts.
    pub next_since: Seq,
    /// The content to join to the rows.
    pub wanted: ContentQuery,
}

/// The content to join to the rows of a page.
#[derive(Debug, Default)]
pub struct ContentQuery {
    /// Turns.
    pub turns: Vec<TurnId>,
    /// Conversations.
    pub conversations: Vec<ConversationId>,
    /// Messages, by their conversations and positions.
    pub messages: Vec<(ConversationId, i64)>,
    /// Ratings.
    pub feedback: Vec<FeedbackKey>,
    /// The positions of events about agents.
    pub snapshots: Vec<Seq>,
}

/// The content that is joined to a page.
#[derive(Debug, Default)]
pub struct EventContent {
    /// Turns, with their replies.
    pub turns: HashMap<TurnId, EventTurn>,
    /// Conversations that are not deleted.
    pub conversations: HashMap<ConversationId, Conversation>,
    /// Messages, by their conversations and positions.
    pub messages: HashMap<(ConversationId, i64), Message>,
    /// Ratings.
    pub feedback: HashMap<FeedbackKey, Feedback>,
    /// Agents as they were after the events at these positions.
    pub snapshots: HashMap<Seq, Agent>,
}

/// A turn, as events show it. Large tool data, which events omit, is dropped as soon as the
/// row is read: otherwise a page of turns could take a large part of the process's memory.
#[derive(Debug)]
pub struct EventTurn {
    /// The turn.
    pub row: TurnRow,
    /// The audiences for which tool data was dropped.
    pub omitted_tool_data: OmittedToolData,
}

impl From<TurnRow> for EventTurn {
    fn from(mut row: TurnRow) -> Self {
        Self {
            omitted_tool_data: omit_large_tool_data(&mut row.turn.tool_calls),
            row,
        }
    }
}
