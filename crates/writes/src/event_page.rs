//! The content of the events of a page: rows of the log, joined with the entities that they refer to. The
//! content is joined at the time of the read: a turn as the event's type describes it, a conversation
//! in its current state. Events about a deleted entity contain `EventData::DELETED` in its place; they
//! keep the principal.

mod content;

use std::{collections::HashSet, hash::Hash};

use domain::{ConversationId, EventType, event_data::RatingPlace};
use ports::{
    ContentQuery, EventContent, EventDecision, EventPage, EventQuery, EventRecord, EventScan,
    RepositoryError, SelectedEvents,
    write_store::{EventRow, FeedbackKey},
};

use self::content::logged_event;

/// Decides what events show to clients.
#[derive(Debug, Clone, Copy)]
pub struct ShownEvents;

impl EventDecision for ShownEvents {
    /// Keeps as many of the matching rows as fit into the page: at most `query.limit`, and at
    /// most `query.bytes` of content.
    fn select(&self, scan: EventScan, query: &EventQuery) -> SelectedEvents {
        let EventScan {
            mut records,
            bounds,
            until,
        } = scan;
        let fitting = count_fitting(&records, query.bytes);
        let is_full = records.len() >= query.limit || fitting < records.len();
        records.truncate(fitting);
        // A full page ends at its last event, any other where the scan ended.
        let next_since = match records.last() {
            _ if !bounds.reach(query.since) => query.since,
            Some(last) if is_full => last.row.seq,
            _ => until,
        };
        if let Some(visibility) = &query.visibility {
            records.retain(|record| visibility.shows_kind(record.row.kind));
        }
        SelectedEvents {
            wanted: wanted(&records),
            records,
            bounds,
            next_since,
        }
    }

    fn join(
        &self,
        selected: SelectedEvents,
        mut content: EventContent,
    ) -> Result<EventPage, RepositoryError> {
        let events = selected
            .records
            .into_iter()
            .map(|record| logged_event(record, &mut content))
            .collect::<Result<_, _>>()?;
        Ok(EventPage {
            events,
            next_since: selected.next_since,
            first: selected.bounds.first,
            head: selected.bounds.head,
        })
    }
}

/// Returns true if the event's subject is deleted, so that its content is no longer shown. The
/// event of the deletion itself stays visible.
fn is_subject_deleted(record: &EventRecord) -> bool {
    match record.row.kind {
        EventType::AgentDeleted | EventType::UserUpdated | EventType::UserErased => false,
        EventType::AgentCreated | EventType::AgentUpdated | EventType::ConversationDeleted => {
            !record.agent_exists
        }
        _ => !record.agent_exists || !record.conversation_exists,
    }
}

/// The content that the records show.
fn wanted(records: &[EventRecord]) -> ContentQuery {
    use EventType::{AgentCreated, AgentUpdated, ConversationCreated, ConversationUpdated};
    let is_of_conversation = |kind| matches!(kind, ConversationCreated | ConversationUpdated);
    let has_snapshot = |kind| matches!(kind, AgentCreated | AgentUpdated);
    ContentQuery {
        turns: visible_ids(records, EventType::is_of_turn, |row| row.turn_id),
        conversations: visible_ids(records, is_of_conversation, |row| row.conversation_id),
        messages: visible_ids(records, |_| true, message),
        feedback: visible_ids(records, |kind| kind == EventType::MessageRated, rating),
        snapshots: visible_ids(records, has_snapshot, |row| Some(row.seq)),
    }
}

/// The message that an event shows: the greeting of a new conversation, or a message of staff.
fn message(row: &EventRow) -> Option<(ConversationId, i64)> {
    let seq = match row.kind {
        EventType::ConversationCreated => 1,
        EventType::MessageCreated | EventType::MessageUpdated => {
            row.data.as_ref()?.get("seq")?.as_i64()?
        }
        _ => return None,
    };
    Some((row.conversation_id?, seq))
}

/// The rating that an event shows.
fn rating(row: &EventRow) -> Option<FeedbackKey> {
    let place: RatingPlace = serde_json::from_value(row.data.clone()?).ok()?;
    Some(FeedbackKey {
        conversation_id: row.conversation_id?,
        message_seq: place.message.seq,
        principal: place.principal,
    })
}

fn visible_ids<Id: Hash + Eq>(
    records: &[EventRecord],
    is_wanted: impl Fn(EventType) -> bool,
    id: impl Fn(&EventRow) -> Option<Id>,
) -> Vec<Id> {
    let ids: HashSet<Id> = records
        .iter()
        .filter(|record| is_wanted(record.row.kind) && !is_subject_deleted(record))
        .filter_map(|record| id(&record.row))
        .collect();
    ids.into_iter().collect()
}

/// The number of leading records whose content is at most `bytes` in total, but at least one.
/// Deleted content counts as zero bytes, since it is not read.
fn count_fitting(records: &[EventRecord], bytes: usize) -> usize {
    let mut left = i64::try_from(bytes).unwrap_or(i64::MAX);
    let exceeds = |record: &EventRecord| {
        if !is_subject_deleted(record) {
            left = left.saturating_sub(record.bytes);
        }
        left < 0
    };
    let fitting = records.iter().position(exceeds);
    fitting.map_or(records.len(), |fitting| fitting.max(1))
}

#[cfg(test)]
mod tests;
