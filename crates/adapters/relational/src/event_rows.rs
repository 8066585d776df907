//! What a row of the log holds, said once for each kind of event.

use domain::{
    Agent, AgentId, Conversation, ConversationId, EventType, Seq, Stamp, TenantId, TurnId,
    event::Tombstone,
};
use serde::Serialize;
use serde_json::Value;

use crate::EventRow;

/// Where an event belongs.
#[derive(Debug, Clone, Copy)]
pub struct LogPlace<'a> {
    /// Whose log.
    pub tenant: &'a TenantId,
    /// The position.
    pub seq: Seq,
    /// When, and by whom.
    pub stamp: &'a Stamp,
}

/// What an event of a turn says besides its kind.
#[derive(Debug, Clone, Copy)]
pub struct TurnPlace<'a> {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// Its agent.
    pub agent_id: AgentId,
    /// The person its conversation belongs to.
    pub user_id: Option<&'a str>,
}

/// `agent.created`: the agent itself is kept, since it may change before the log is read.
pub fn agent_created(place: LogPlace<'_>, agent: &Agent) -> EventRow {
    of_agent(place, EventType::AgentCreated, agent)
}

/// `agent.updated`, with the agent as the change left it.
pub fn agent_updated(place: LogPlace<'_>, agent: &Agent) -> EventRow {
    of_agent(place, EventType::AgentUpdated, agent)
}

/// `agent.deleted`, with what is left of the agent.
pub fn agent_deleted(place: LogPlace<'_>, id: AgentId, version: i64) -> EventRow {
    EventRow {
        agent_id: Some(id),
        data: Some(json(&Tombstone { id, version })),
        ..bare(place, EventType::AgentDeleted)
    }
}

/// `conversation.created`.
pub fn conversation_created(place: LogPlace<'_>, conversation: &Conversation) -> EventRow {
    of_conversation(place, EventType::ConversationCreated, conversation)
}

/// `conversation.updated`.
pub fn conversation_updated(place: LogPlace<'_>, conversation: &Conversation) -> EventRow {
    of_conversation(place, EventType::ConversationUpdated, conversation)
}

/// `conversation.deleted`, with what is left of the conversation.
pub fn conversation_deleted(place: LogPlace<'_>, conversation: &Conversation) -> EventRow {
    let tombstone = Tombstone {
        id: conversation.id,
        version: conversation.version,
    };
    EventRow {
        data: Some(json(&tombstone)),
        ..of_conversation(place, EventType::ConversationDeleted, conversation)
    }
}

/// `turn.*`.
pub fn turn(place: LogPlace<'_>, kind: EventType, turn: TurnPlace<'_>) -> EventRow {
    EventRow {
        agent_id: Some(turn.agent_id),
        conversation_id: Some(turn.conversation_id),
        user_id: turn.user_id.map(str::to_owned),
        turn_id: Some(turn.turn_id),
        ..bare(place, kind)
    }
}

fn of_agent(place: LogPlace<'_>, kind: EventType, agent: &Agent) -> EventRow {
    EventRow {
        agent_id: Some(agent.id),
        snapshot: Some(json(agent)),
        ..bare(place, kind)
    }
}

fn of_conversation(place: LogPlace<'_>, kind: EventType, conversation: &Conversation) -> EventRow {
    EventRow {
        agent_id: Some(conversation.agent_id),
        conversation_id: Some(conversation.id),
        user_id: conversation.user_id.clone(),
        ..bare(place, kind)
    }
}

fn bare(place: LogPlace<'_>, kind: EventType) -> EventRow {
    EventRow {
        tenant: place.tenant.clone(),
        seq: place.seq,
        kind,
        time: place.stamp.time,
        agent_id: None,
        conversation_id: None,
        user_id: None,
        turn_id: None,
        actor: place.stamp.actor.clone(),
        data: None,
        snapshot: None,
    }
}

fn json(data: &impl Serialize) -> Value {
    // Agents and tombstones are made of text, numbers and maps with text keys: this cannot fail.
    serde_json::to_value(data).unwrap_or_default()
}
