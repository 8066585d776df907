//! Construction of the rows of the event log, one function per kind of event.

use domain::{
    Agent, AgentId, Conversation, ConversationId, EventType, Message, NoteId, Seq, Stamp, TenantId,
    TurnId,
    erasure::EndedErasure,
    event_data::{
        ConversationMove, ConversationUpdateData, MessagePlace, NoteReference, RatingPlace,
        SupersededRange, Tombstone,
    },
};
use serde::Serialize;
use serde_json::Value;

use ports::write_store::{ConversationFacts, EventRow, FeedbackKey};

/// The position and origin of an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogPosition<'a> {
    /// The tenant that owns the log.
    pub(crate) tenant: &'a TenantId,
    /// The position.
    pub(crate) seq: Seq,
    /// The time and the actor.
    pub(crate) stamp: &'a Stamp,
}

/// The ids that an event of a turn contains.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnIds<'a> {
    /// The turn.
    pub(crate) turn: TurnId,
    /// Its conversation.
    pub(crate) conversation: ConversationId,
    /// Its agent.
    pub(crate) agent: AgentId,
    /// The user that its conversation belongs to.
    pub(crate) user: Option<&'a str>,
}

/// `agent.created`, with a copy of the agent, since it may change before the log is read.
pub(crate) fn agent_created(position: LogPosition<'_>, agent: &Agent) -> EventRow {
    agent_event(position, EventType::AgentCreated, agent)
}

/// `agent.updated`, with a copy of the agent after the change.
pub(crate) fn agent_updated(position: LogPosition<'_>, agent: &Agent) -> EventRow {
    agent_event(position, EventType::AgentUpdated, agent)
}

/// `agent.deleted`, with the agent's tombstone.
pub(crate) fn agent_deleted(position: LogPosition<'_>, id: AgentId, version: i64) -> EventRow {
    EventRow {
        agent_id: Some(id),
        data: Some(json(&Tombstone::new(id, version))),
        ..base_row(position, EventType::AgentDeleted)
    }
}

/// `user.updated`.
pub(crate) fn user_updated(position: LogPosition<'_>, user_id: &str) -> EventRow {
    EventRow {
        user_id: Some(user_id.to_owned()),
        ..base_row(position, EventType::UserUpdated)
    }
}

/// `user.erased`, with what was erased. Nothing in it names the user.
pub(crate) fn user_erased(position: LogPosition<'_>, erasure: &EndedErasure) -> EventRow {
    EventRow {
        data: Some(json(erasure)),
        ..base_row(position, EventType::UserErased)
    }
}

/// `conversation.created`.
pub(crate) fn conversation_created(
    position: LogPosition<'_>,
    conversation: &Conversation,
) -> EventRow {
    conversation_event(position, EventType::ConversationCreated, conversation)
}

/// `conversation.updated`, with the move if the conversation has another user now.
pub(crate) fn conversation_updated(
    position: LogPosition<'_>,
    conversation: &Conversation,
    moved: Option<ConversationMove>,
) -> EventRow {
    let data = moved.map(|moved| json(&ConversationUpdateData { moved: Some(moved) }));
    EventRow {
        data,
        ..conversation_event(position, EventType::ConversationUpdated, conversation)
    }
}

/// An event of a stored conversation, without data.
pub(crate) fn stored_conversation_event(
    position: LogPosition<'_>,
    kind: EventType,
    id: ConversationId,
    conversation: &ConversationFacts,
) -> EventRow {
    EventRow {
        agent_id: Some(conversation.agent_id),
        conversation_id: Some(id),
        user_id: conversation.user_id.clone(),
        ..base_row(position, kind)
    }
}

/// `messages.superseded`, with the range of the messages.
pub(crate) fn messages_superseded(
    position: LogPosition<'_>,
    ids: TurnIds<'_>,
    from_seq: i64,
    to_seq: i64,
) -> EventRow {
    let range = SupersededRange { from_seq, to_seq };
    EventRow {
        data: Some(json(&range)),
        ..turn_event(position, EventType::MessagesSuperseded, ids)
    }
}

/// `message.*`, with the place of the message.
pub(crate) fn message_event(
    position: LogPosition<'_>,
    kind: EventType,
    conversation: &ConversationFacts,
    message: &Message,
) -> EventRow {
    let Message { id, seq, .. } = *message;
    EventRow {
        data: Some(json(&MessagePlace { id, seq })),
        ..stored_conversation_event(position, kind, message.conversation_id, conversation)
    }
}

/// `note.*`, with the id of the note.
pub(crate) fn note_event(
    position: LogPosition<'_>,
    kind: EventType,
    conversation: &ConversationFacts,
    (conversation_id, id): (ConversationId, NoteId),
) -> EventRow {
    EventRow {
        data: Some(json(&NoteReference { id })),
        ..stored_conversation_event(position, kind, conversation_id, conversation)
    }
}

/// `message.rated`, with the place of the rating.
pub(crate) fn message_rated(
    position: LogPosition<'_>,
    conversation: &ConversationFacts,
    key: &FeedbackKey,
    message: MessagePlace,
) -> EventRow {
    let place = RatingPlace {
        message,
        principal: key.principal.clone(),
    };
    EventRow {
        agent_id: Some(conversation.agent_id),
        conversation_id: Some(key.conversation_id),
        user_id: conversation.user_id.clone(),
        data: Some(json(&place)),
        ..base_row(position, EventType::MessageRated)
    }
}

/// `conversation.deleted`, with the conversation's tombstone.
pub(crate) fn conversation_deleted(
    position: LogPosition<'_>,
    id: ConversationId,
    conversation: &ConversationFacts,
) -> EventRow {
    let tombstone = Tombstone::new(id, conversation.version);
    EventRow {
        data: Some(json(&tombstone)),
        ..stored_conversation_event(position, EventType::ConversationDeleted, id, conversation)
    }
}

/// `turn.*`.
pub(crate) fn turn_event(position: LogPosition<'_>, kind: EventType, ids: TurnIds<'_>) -> EventRow {
    EventRow {
        agent_id: Some(ids.agent),
        conversation_id: Some(ids.conversation),
        user_id: ids.user.map(str::to_owned),
        turn_id: Some(ids.turn),
        ..base_row(position, kind)
    }
}

fn agent_event(position: LogPosition<'_>, kind: EventType, agent: &Agent) -> EventRow {
    EventRow {
        agent_id: Some(agent.id),
        snapshot: Some(json(agent)),
        ..base_row(position, kind)
    }
}

fn conversation_event(
    position: LogPosition<'_>,
    kind: EventType,
    conversation: &Conversation,
) -> EventRow {
    EventRow {
        agent_id: Some(conversation.agent_id),
        conversation_id: Some(conversation.id),
        user_id: conversation.user_id.clone(),
        ..base_row(position, kind)
    }
}

fn base_row(position: LogPosition<'_>, kind: EventType) -> EventRow {
    EventRow {
        tenant: position.tenant.clone(),
        seq: position.seq,
        kind,
        time: position.stamp.time,
        agent_id: None,
        conversation_id: None,
        user_id: None,
        turn_id: None,
        actor: position.stamp.actor.clone(),
        data: None,
        snapshot: None,
    }
}

fn json(data: &impl Serialize) -> Value {
    // Agents, moves and tombstones consist of text, numbers and maps with text keys: this cannot fail.
    serde_json::to_value(data).unwrap_or_default()
}
