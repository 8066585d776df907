//! The content of one event, from its row and the entities that it refers to.

use domain::{
    Event, EventData, EventType, Message, Turn, TurnStatus,
    erasure::EndedErasure,
    event::event_id,
    event_data::{
        ConversationMove, ConversationUpdateData, EventMessage, MessagePlace, SupersededRange,
        Tombstone,
    },
};
use ports::{
    EventContent, EventRecord, EventTurn, LoggedEvent, RepositoryError, write_store::EventRow,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{is_subject_deleted, rating};

/// Joins the content to a row.
pub(super) fn logged_event(
    record: EventRecord,
    content: &mut EventContent,
) -> Result<LoggedEvent, RepositoryError> {
    let data = data(&record, content)?;
    let moved = moved(&record.row)?;
    let is_for_staff = is_for_staff(&record.row);
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
        started_by: record.started_by,
        moved,
        is_for_staff,
    })
}

fn data(record: &EventRecord, content: &mut EventContent) -> Result<EventData, RepositoryError> {
    if matches!(record.row.kind, EventType::Other(_)) {
        return Ok(EventData::Unknown {});
    }
    if is_subject_deleted(record) {
        return Ok(EventData::DELETED);
    }
    let row = &record.row;
    let data = match row.kind {
        EventType::AgentCreated | EventType::AgentUpdated => content
            .snapshots
            .remove(&row.seq)
            .map_or(EventData::DELETED, |agent| EventData::Agent { agent }),
        EventType::AgentDeleted => EventData::AgentDeleted {
            agent: parse_data::<Tombstone<_>>(row)?,
        },
        EventType::ConversationDeleted => EventData::ConversationDeleted {
            conversation: parse_data::<Tombstone<_>>(row)?,
        },
        EventType::ConversationCreated | EventType::ConversationUpdated => {
            conversation_data(row, content)
        }
        EventType::MessagesSuperseded => superseded_data(row)?,
        EventType::MessageCreated | EventType::MessageUpdated => message_data(row, content)?,
        EventType::MessageDeleted => EventData::MessageDeleted {
            message: parse_data(row)?,
        },
        EventType::NoteCreated | EventType::NoteDeleted => EventData::Note {
            note: parse_data(row)?,
        },
        EventType::MessageRated => EventData::MessageRated {
            message: parse_data(row)?,
            feedback: rating(row).and_then(|key| content.feedback.get(&key).cloned()),
        },
        EventType::UserUpdated => match row.user_id.clone() {
            Some(user_id) => EventData::User { user_id },
            // The user was erased since.
            None => EventData::DELETED,
        },
        EventType::UserErased => {
            let EndedErasure { erasure_id, counts } = parse_data(row)?;
            EventData::UserErased { erasure_id, counts }
        }
        kind if kind.is_of_turn() => row
            .turn_id
            .and_then(|id| content.turns.get(&id))
            .map_or(EventData::DELETED, |turn| turn_data(kind, turn)),
        _ => EventData::DELETED,
    };
    Ok(data)
}

/// Returns the move of a conversation to another user, if the event is one.
fn moved(row: &EventRow) -> Result<Option<ConversationMove>, RepositoryError> {
    if row.kind != EventType::ConversationUpdated || row.data.is_none() {
        return Ok(None);
    }
    Ok(parse_data::<ConversationUpdateData>(row)?.moved)
}

/// Returns whether an event is about the rating of a principal that is not the user of the conversation.
fn is_for_staff(row: &EventRow) -> bool {
    row.kind == EventType::MessageRated && rating(row).is_some_and(|key| key.principal.is_some())
}

fn superseded_data(row: &EventRow) -> Result<EventData, RepositoryError> {
    let SupersededRange { from_seq, to_seq } = parse_data(row)?;
    Ok(row.turn_id.map_or(EventData::DELETED, |turn_id| {
        EventData::MessagesSuperseded {
            from_seq,
            to_seq,
            turn_id,
        }
    }))
}

/// A message that was deleted since is not shown.
fn message_data(row: &EventRow, content: &EventContent) -> Result<EventData, RepositoryError> {
    let MessagePlace { seq, .. } = parse_data(row)?;
    let id = row.conversation_id.map(|conversation| (conversation, seq));
    let message = id.and_then(|id| content.messages.get(&id));
    Ok(
        message.map_or(EventData::DELETED, |message| EventData::Message {
            message: EventMessage::from(message.clone()),
        }),
    )
}

fn conversation_data(row: &EventRow, content: &EventContent) -> EventData {
    let Some(id) = row.conversation_id else {
        return EventData::DELETED;
    };
    let Some(conversation) = content.conversations.get(&id) else {
        return EventData::DELETED;
    };
    let greeting = match row.kind {
        EventType::ConversationCreated => content.messages.get(&(id, 1)),
        _ => None,
    };
    let greeting = greeting.filter(|first| first.is_greeting());
    EventData::Conversation {
        conversation: conversation.clone(),
        greeting: greeting.cloned(),
    }
}

fn turn_data(kind: EventType, turn: &EventTurn) -> EventData {
    let EventTurn {
        row,
        omitted_tool_data,
    } = turn;
    let turn = row.turn.clone();
    let (turn, message): (Turn, Option<Message>) = match kind {
        EventType::TurnQueued => (turn.as_queued(), None),
        EventType::TurnStarted => (turn.as_started(), row.user_message()),
        EventType::TurnRequiresAction => {
            let message = turn.reply.clone();
            (turn.as_waiting(), message)
        }
        EventType::TurnResumed => (turn.as_started(), None),
        EventType::TurnCompleted => ended_turn(turn, TurnStatus::Completed),
        EventType::TurnCancelled => ended_turn(turn, TurnStatus::Cancelled),
        _ => ended_turn(turn, TurnStatus::Failed),
    };
    // Events from before the tool calls do not contain them.
    let has_calls = !turn.tool_calls.is_empty();
    let mut data = EventData::turn(turn, message);
    if let EventData::Turn {
        omitted,
        omitted_for_users,
        ..
    } = &mut data
    {
        *omitted |= has_calls && omitted_tool_data.for_staff;
        *omitted_for_users |= has_calls && omitted_tool_data.for_users;
    }
    data
}

fn ended_turn(turn: Turn, status: TurnStatus) -> (Turn, Option<Message>) {
    let message = turn.reply.clone();
    (turn.as_ended(status), message)
}

fn parse_data<T: DeserializeOwned>(row: &EventRow) -> Result<T, RepositoryError> {
    let data = row.data.clone().unwrap_or(Value::Null);
    serde_json::from_value(data).map_err(|error| RepositoryError::Corrupt {
        what: "events.data".to_owned(),
        source: error.into(),
    })
}
