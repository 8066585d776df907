//! What a page of the log shows: rows of the log joined with what they speak of.

use std::collections::{HashMap, HashSet};

use domain::{
    Agent, Conversation, ConversationId, Event, EventData, EventType, Message, PrincipalId, Seq,
    Turn, TurnId, TurnStatus,
    event::{Tombstone, event_id, leave_out_large_arguments},
};
use ports::{EventPage, EventQuery, EventVisibility, LogBounds, LoggedEvent, RepositoryError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{EventRow, TurnRow};

/// Events that one page scans at most.
pub const MOST_SCANNED: i64 = 10_000;

/// Events that one count scans at most.
pub const MOST_COUNTED: i64 = 100_000;

/// A position that statements can calculate with: one so late is after every head anyway.
pub fn calculable(since: Seq) -> i64 {
    since.0.min(i64::MAX - MOST_COUNTED)
}

/// What a page is filtered by when nobody's view is to be kept to.
pub fn everything() -> EventVisibility {
    EventVisibility {
        agents: true,
        conversations: true,
        principal: PrincipalId::new(""),
        user_id: None,
    }
}

/// A row of the log, and whether what it concerns is still there.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRecord {
    /// The row.
    pub row: EventRow,
    /// Who started its turn, if that is still there.
    pub asker: Option<PrincipalId>,
    /// Whether its agent exists.
    pub agent_exists: bool,
    /// Whether its conversation exists (false when it concerns none).
    pub conversation_exists: bool,
    /// The size of the content to be joined, in bytes as stored.
    pub bytes: i64,
}

impl EventRecord {
    /// Whether what the event speaks of is gone, so that its content is not shown any more. The
    /// event of a deletion itself stays.
    fn is_of_deleted(&self) -> bool {
        match self.row.kind {
            EventType::AgentDeleted => false,
            EventType::AgentCreated | EventType::AgentUpdated | EventType::ConversationDeleted => {
                !self.agent_exists
            }
            _ => !self.agent_exists || !self.conversation_exists,
        }
    }
}

/// What one statement read of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct EventScan {
    /// The rows that passed the filters, by position.
    pub records: Vec<EventRecord>,
    /// The oldest event still there.
    pub first: Seq,
    /// The newest event.
    pub head: Seq,
    /// The position up to which the log was scanned.
    next_since: Seq,
}

/// What is joined to a page; ids that are missing here count as deleted.
#[derive(Debug, Default)]
pub struct EventContent {
    /// Turns, with their replies.
    pub turns: HashMap<TurnId, EventTurn>,
    /// Conversations.
    pub conversations: HashMap<ConversationId, Conversation>,
    /// The greetings with which conversations began.
    pub greetings: HashMap<ConversationId, Message>,
    /// Agents as the events at these positions left them.
    pub snapshots: HashMap<Seq, Agent>,
}

/// A turn, as events tell of it. What they leave out goes as soon as its row was read: a page of
/// turns with all that tools were given would take a large part of the memory there is.
#[derive(Debug)]
pub struct EventTurn {
    row: TurnRow,
    arguments_left_out: bool,
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
            arguments_left_out: leave_out_large_arguments(&mut row.turn.tool_calls),
            row,
        }
    }
}

impl EventScan {
    /// Keeps of the rows that passed the filters, at most `query.limit`, those whose content the
    /// page has room for.
    pub fn new(mut records: Vec<EventRecord>, bounds: LogBounds, query: &EventQuery) -> Self {
        let fitting = fitting(&records, query.bytes);
        let is_full = records.len() >= query.limit || fitting < records.len();
        records.truncate(fitting);
        // A full page ends at its last event; others end where the scan did.
        let next_since = match records.last() {
            _ if !bounds.reach(query.since) => query.since,
            Some(last) if is_full => last.row.seq,
            _ => bounds.head.min(query.since.plus(MOST_SCANNED)),
        };
        Self {
            records,
            first: bounds.first,
            head: bounds.head,
            next_since,
        }
    }

    /// The positions of the snapshots to be joined.
    pub fn snapshot_positions(&self) -> Vec<i64> {
        let is_snapshot = |kind| matches!(kind, EventType::AgentCreated | EventType::AgentUpdated);
        self.shown(is_snapshot, |row| Some(row.seq.0))
    }

    /// The turns to be joined.
    pub fn turn_ids(&self) -> Vec<TurnId> {
        self.shown(EventType::is_of_turn, |row| row.turn_id)
    }

    /// The conversations to be joined.
    pub fn conversation_ids(&self) -> Vec<ConversationId> {
        self.shown(
            |kind| {
                matches!(
                    kind,
                    EventType::ConversationCreated | EventType::ConversationUpdated
                )
            },
            |row| row.conversation_id,
        )
    }

    /// The conversations whose greeting is to be joined.
    pub fn greeting_ids(&self) -> Vec<ConversationId> {
        self.shown(
            |kind| kind == EventType::ConversationCreated,
            |row| row.conversation_id,
        )
    }

    fn shown<Id: std::hash::Hash + Eq>(
        &self,
        is_wanted: impl Fn(EventType) -> bool,
        id: impl Fn(&EventRow) -> Option<Id>,
    ) -> Vec<Id> {
        let ids: HashSet<Id> = self
            .records
            .iter()
            .filter(|record| is_wanted(record.row.kind) && !record.is_of_deleted())
            .filter_map(|record| id(&record.row))
            .collect();
        ids.into_iter().collect()
    }

    /// Joins the content to the rows.
    pub fn into_page(self, content: &mut EventContent) -> Result<EventPage, RepositoryError> {
        let events = self
            .records
            .into_iter()
            .map(|record| logged(record, content))
            .collect::<Result<_, _>>()?;
        Ok(EventPage {
            events,
            next_since: self.next_since,
            first: self.first,
            head: self.head,
        })
    }
}

/// The number of records from the first on whose content is not larger than `bytes` together; at
/// least one. Nothing is read for what is deleted.
fn fitting(records: &[EventRecord], bytes: usize) -> usize {
    let mut left = i64::try_from(bytes).unwrap_or(i64::MAX);
    let exceeds = |record: &EventRecord| {
        if !record.is_of_deleted() {
            left = left.saturating_sub(record.bytes);
        }
        left < 0
    };
    let fitting = records.iter().position(exceeds);
    fitting.map_or(records.len(), |fitting| fitting.max(1))
}

fn logged(record: EventRecord, content: &mut EventContent) -> Result<LoggedEvent, RepositoryError> {
    let data = data(&record, content)?;
    let EventRow {
        tenant,
        seq,
        kind,
        time,
        agent_id,
        conversation_id,
        user_id,
        turn_id,
        actor,
        ..
    } = record.row;
    Ok(LoggedEvent {
        event: Event {
            seq,
            id: event_id(&tenant, seq, time),
            kind,
            time,
            tenant_id: tenant,
            agent_id,
            conversation_id,
            user_id,
            turn_id,
            actor,
            data,
        },
        asker: record.asker,
    })
}

fn data(record: &EventRecord, content: &mut EventContent) -> Result<EventData, RepositoryError> {
    if record.is_of_deleted() {
        return Ok(EventData::DELETED);
    }
    let row = &record.row;
    let data = match row.kind {
        EventType::AgentCreated | EventType::AgentUpdated => content
            .snapshots
            .remove(&row.seq)
            .map_or(EventData::DELETED, |agent| EventData::Agent { agent }),
        EventType::AgentDeleted => EventData::AgentDeleted {
            agent: stored::<Tombstone<_>>(row)?,
        },
        EventType::ConversationDeleted => EventData::ConversationDeleted {
            conversation: stored::<Tombstone<_>>(row)?,
        },
        EventType::ConversationCreated | EventType::ConversationUpdated => {
            conversation_data(row, content)
        }
        kind => row
            .turn_id
            .and_then(|id| content.turns.get(&id))
            .map_or(EventData::DELETED, |turn| turn_data(kind, turn)),
    };
    Ok(data)
}

fn conversation_data(row: &EventRow, content: &EventContent) -> EventData {
    let Some(id) = row.conversation_id else {
        return EventData::DELETED;
    };
    let Some(conversation) = content.conversations.get(&id) else {
        return EventData::DELETED;
    };
    let greeting = match row.kind {
        EventType::ConversationCreated => content.greetings.get(&id).cloned(),
        _ => None,
    };
    EventData::Conversation {
        conversation: conversation.clone(),
        greeting,
    }
}

fn turn_data(kind: EventType, told: &EventTurn) -> EventData {
    let EventTurn {
        row,
        arguments_left_out,
    } = told;
    let turn = row.turn.clone();
    let (turn, message): (Turn, Option<Message>) = match kind {
        EventType::TurnQueued => (turn.as_queued(), None),
        EventType::TurnStarted => (turn.as_started(), row.user_message()),
        EventType::TurnCompleted => ended(turn, TurnStatus::Completed),
        EventType::TurnCancelled => ended(turn, TurnStatus::Cancelled),
        _ => ended(turn, TurnStatus::Failed),
    };
    // An event of before the calls does not tell of them.
    let lacks_arguments = *arguments_left_out && !turn.tool_calls.is_empty();
    let mut data = EventData::turn(turn, message);
    if let EventData::Turn { omitted, .. } = &mut data {
        *omitted |= lacks_arguments;
    }
    data
}

fn ended(turn: Turn, status: TurnStatus) -> (Turn, Option<Message>) {
    let message = turn.reply.clone();
    (turn.as_ended(status), message)
}

fn stored<T: DeserializeOwned>(row: &EventRow) -> Result<T, RepositoryError> {
    let data = row.data.clone().unwrap_or(Value::Null);
    serde_json::from_value(data).map_err(|source| RepositoryError::Corrupt {
        what: "events.data".to_owned(),
        source: source.into(),
    })
}

#[cfg(test)]
mod tests;
