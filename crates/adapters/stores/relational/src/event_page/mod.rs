//! Pages of the event log: rows of the log, joined with the entities that they refer to.

mod content;

use std::collections::{HashMap, HashSet};

use domain::{
    Agent, Conversation, ConversationId, EventType, Message, PrincipalId, Seq, TurnId,
    event_data::omit_large_tool_data,
};
use ports::{
    EventPage, EventQuery, EventVisibility, LogBounds, RepositoryError,
    write_store::{EventRow, TurnRow},
};

use self::content::logged_event;

/// The maximum number of events that one page scans.
pub const MAX_SCANNED_EVENTS: i64 = 10_000;

/// The maximum number of events that one count scans.
pub const MAX_COUNTED_EVENTS: i64 = 100_000;

/// Limits a position so that a statement can add a scan length to it without overflow. The limit is
/// greater than any head.
pub fn clamp_position(since: Seq) -> i64 {
    since.0.min(i64::MAX - MAX_COUNTED_EVENTS)
}

/// The filter of a page without visibility limits.
pub fn full_visibility() -> EventVisibility {
    EventVisibility {
        agents: true,
        conversations: true,
        principal: PrincipalId::new(""),
        user_id: None,
    }
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

impl EventRecord {
    /// Returns true if the event's subject is deleted, so that its content is no longer shown. The
    /// event of the deletion itself stays visible.
    fn is_subject_deleted(&self) -> bool {
        match self.row.kind {
            EventType::AgentDeleted => false,
            EventType::AgentCreated | EventType::AgentUpdated | EventType::ConversationDeleted => {
                !self.agent_exists
            }
            _ => !self.agent_exists || !self.conversation_exists,
        }
    }
}

/// The result of one scan of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct EventScan {
    /// The rows that passed the filters, by position.
    pub records: Vec<EventRecord>,
    /// The oldest event that has not been trimmed.
    pub first: Seq,
    /// The newest event.
    pub head: Seq,
    /// The position up to which the log was scanned.
    next_since: Seq,
}

/// The content that is joined to a page. Ids that are missing here count as deleted.
#[derive(Debug, Default)]
pub struct EventContent {
    /// Turns, with their replies.
    pub turns: HashMap<TurnId, EventTurn>,
    /// Conversations.
    pub conversations: HashMap<ConversationId, Conversation>,
    /// The greetings of conversations that began with one.
    pub greetings: HashMap<ConversationId, Message>,
    /// Agents as they were after the events at these positions.
    pub snapshots: HashMap<Seq, Agent>,
}

/// A turn, as events show it. Large tool data, which events omit, is dropped as soon as the
/// row is read: otherwise a page of turns could take a large part of the process's memory.
#[derive(Debug)]
pub struct EventTurn {
    row: TurnRow,
    is_tool_data_omitted: bool,
}

impl EventTurn {
    /// The turn.
    pub fn id(&self) -> TurnId {
        self.row.turn.id
    }
}

impl From<TurnRow> for EventTurn {
    fn from(mut row: TurnRow) -> Self {
        Self {
            is_tool_data_omitted: omit_large_tool_data(&mut row.turn.tool_calls),
            row,
        }
    }
}

impl EventScan {
    /// Keeps as many of the matching rows as fit into the page: at most `query.limit`, and at
    /// most `query.bytes` of content.
    pub fn new(mut records: Vec<EventRecord>, bounds: LogBounds, query: &EventQuery) -> Self {
        let fitting = count_fitting(&records, query.bytes);
        let is_full = records.len() >= query.limit || fitting < records.len();
        records.truncate(fitting);
        // A full page ends at its last event, any other where the scan ended.
        let next_since = match records.last() {
            _ if !bounds.reach(query.since) => query.since,
            Some(last) if is_full => last.row.seq,
            _ => bounds.head.min(query.since.plus(MAX_SCANNED_EVENTS)),
        };
        Self {
            records,
            first: bounds.first,
            head: bounds.head,
            next_since,
        }
    }

    /// The positions of the agent snapshots to join.
    pub fn snapshot_positions(&self) -> Vec<i64> {
        let is_snapshot = |kind| matches!(kind, EventType::AgentCreated | EventType::AgentUpdated);
        self.visible_ids(is_snapshot, |row| Some(row.seq.0))
    }

    /// The turns to join.
    pub fn turn_ids(&self) -> Vec<TurnId> {
        self.visible_ids(EventType::is_of_turn, |row| row.turn_id)
    }

    /// The conversations to join.
    pub fn conversation_ids(&self) -> Vec<ConversationId> {
        self.visible_ids(
            |kind| {
                matches!(
                    kind,
                    EventType::ConversationCreated | EventType::ConversationUpdated
                )
            },
            |row| row.conversation_id,
        )
    }

    /// The conversations whose greeting to join.
    pub fn greeting_ids(&self) -> Vec<ConversationId> {
        self.visible_ids(
            |kind| kind == EventType::ConversationCreated,
            |row| row.conversation_id,
        )
    }

    fn visible_ids<Id: std::hash::Hash + Eq>(
        &self,
        is_wanted: impl Fn(EventType) -> bool,
        id: impl Fn(&EventRow) -> Option<Id>,
    ) -> Vec<Id> {
        let ids: HashSet<Id> = self
            .records
            .iter()
            .filter(|record| is_wanted(record.row.kind) && !record.is_subject_deleted())
            .filter_map(|record| id(&record.row))
            .collect();
        ids.into_iter().collect()
    }

    /// Joins the content to the rows.
    pub fn into_page(self, content: &mut EventContent) -> Result<EventPage, RepositoryError> {
        let events = self
            .records
            .into_iter()
            .map(|record| logged_event(record, content))
            .collect::<Result<_, _>>()?;
        Ok(EventPage {
            events,
            next_since: self.next_since,
            first: self.first,
            head: self.head,
        })
    }
}

/// The number of leading records whose content is at most `bytes` in total, but at least one.
/// Deleted content counts as zero bytes, since it is not read.
fn count_fitting(records: &[EventRecord], bytes: usize) -> usize {
    let mut left = i64::try_from(bytes).unwrap_or(i64::MAX);
    let exceeds = |record: &EventRecord| {
        if !record.is_subject_deleted() {
            left = left.saturating_sub(record.bytes);
        }
        left < 0
    };
    let fitting = records.iter().position(exceeds);
    fitting.map_or(records.len(), |fitting| fitting.max(1))
}

#[cfg(test)]
mod tests;
