//! The state of the conversation in which a turn begins, and the rows that every new turn writes.

use domain::{
    Conversation, IdempotencyRecord, Message, Seq, TenantId, Timestamp,
    admission::{Admission, Occupancy, OnBusy, admit},
};
use ports::{BeginTurn, ConversationTarget, RepositoryError};

use super::Planner;
use crate::{
    ConversationAdvance, ConversationFacts, ConversationRow, Facts, IdempotencyRow, KeyName,
    MessageRow, TurnRow,
    event_rows::{self, TurnIds},
};

/// The reason why a turn may not begin. Nothing is written then.
pub(super) enum Rejection {
    /// Its idempotency key was used before.
    Replayed(IdempotencyRecord),
    /// The agent does not exist.
    AgentNotFound,
    /// The agent has no such conversation.
    ConversationNotFound,
}

/// The conversation in which a turn begins.
pub(super) enum ConversationState<'a> {
    /// A conversation that begins with this turn.
    New(&'a Conversation),
    /// An existing conversation.
    Existing(&'a ConversationFacts),
}

impl<'a> ConversationState<'a> {
    /// Checks the idempotency key first, then whether agent and conversation exist.
    pub(super) fn resolve(facts: &'a Facts, begin: &'a BeginTurn) -> Result<Self, Rejection> {
        let idempotency = begin.idempotency.as_ref();
        let record = facts.existing_record(&begin.tenant, idempotency);
        if let Some(record) = record.filter(|record| is_replay(record, begin)) {
            return Err(Rejection::Replayed(record.clone()));
        }
        if facts.agent_version(begin).is_none() {
            return Err(Rejection::AgentNotFound);
        }
        match &begin.target {
            ConversationTarget::New(conversation) => Ok(Self::New(conversation)),
            ConversationTarget::Existing { id, .. } => facts
                .conversation(&begin.tenant, *id)
                .filter(|found| found.agent_id == begin.agent_id)
                .map(Self::Existing)
                .ok_or(Rejection::ConversationNotFound),
        }
    }

    /// Decides whether the turn starts, is queued or is rejected.
    pub(super) fn admit(&self, on_busy: OnBusy) -> Admission {
        let occupancy = match self {
            Self::New(_) => Occupancy {
                running: false,
                queued: 0,
            },
            Self::Existing(found) => Occupancy {
                running: found.running.is_some(),
                queued: found.waiting,
            },
        };
        admit(occupancy, on_busy)
    }

    /// Checks the agent version and the turn count that the caller assumed.
    pub(super) fn check(&self, facts: &Facts, begin: &BeginTurn) -> Result<(), RepositoryError> {
        if facts.agent_version(begin) != Some(begin.agent_version) {
            return Err(RepositoryError::Stale { what: "agent" });
        }
        match (self, &begin.target) {
            (Self::Existing(found), ConversationTarget::Existing { turn_count, .. })
                if found.turn_count != *turn_count =>
            {
                Err(RepositoryError::Stale {
                    what: "conversation",
                })
            }
            _ => Ok(()),
        }
    }

    /// The user that the conversation belongs to.
    pub(super) fn user_id(&self) -> Option<&'a str> {
        match self {
            Self::New(conversation) => conversation.user_id.as_deref(),
            Self::Existing(found) => found.user_id.as_deref(),
        }
    }

    /// The number of messages.
    pub(super) const fn message_count(&self) -> i64 {
        match self {
            Self::New(_) => 0,
            Self::Existing(found) => found.message_count,
        }
    }

    /// The number of turns that have started.
    pub(super) const fn turn_count(&self) -> i64 {
        match self {
            Self::New(_) => 0,
            Self::Existing(found) => found.turn_count,
        }
    }
}

/// Whether `begin` repeats the request of a record. A released record blocks only the same
/// request if it would begin a new conversation, because its caller does not know the existing one.
fn is_replay(record: &IdempotencyRecord, begin: &BeginTurn) -> bool {
    let fingerprint = begin
        .idempotency
        .as_ref()
        .map(|idempotency| idempotency.fingerprint);
    let begins_conversation =
        matches!(begin.target, ConversationTarget::New(_)) && !begin.is_resumption;
    record.released_into.is_none()
        || (begins_conversation && fingerprint == Some(record.fingerprint))
}

impl Planner<'_> {
    /// Logs the creation of the conversation, if this turn creates it.
    pub(super) fn log_conversation_created(
        &mut self,
        begin: &BeginTurn,
        state: &ConversationState<'_>,
    ) -> Option<Seq> {
        let ConversationState::New(conversation) = state else {
            return None;
        };
        Some(self.log(&begin.tenant, &begin.stamp, |position| {
            event_rows::conversation_created(position, conversation)
        }))
    }

    /// Writes the conversation of a started turn: a new row, or one with `messages` more messages.
    pub(super) fn write_conversation(
        &mut self,
        begin: &BeginTurn,
        state: &ConversationState<'_>,
        messages: i64,
        at: Timestamp,
    ) {
        let message_count = state.message_count() + messages;
        let turn_count = state.turn_count() + 1;
        let sort_seq = self.head(&begin.tenant);
        match state {
            ConversationState::New(conversation) => self.rows.conversations.push(ConversationRow {
                tenant: begin.tenant.clone(),
                conversation: Conversation {
                    message_count,
                    updated_at: at.max(conversation.updated_at),
                    last_message_at: Some(at.max(conversation.created_at)),
                    ..(*conversation).clone()
                },
                turn_count,
                sort_seq,
            }),
            ConversationState::Existing(found) => self.advance(
                found,
                ConversationAdvance {
                    tenant: begin.tenant.clone(),
                    id: begin.target.id(),
                    message_count,
                    turn_count,
                    updated_at: at,
                    last_message_at: Some(at),
                    sort_seq,
                },
            ),
        }
    }

    /// Writes the idempotency record of the turn.
    pub(super) fn push_record(&mut self, begin: &BeginTurn) {
        self.rows
            .idempotency
            .extend(begin.idempotency.iter().map(|idempotency| IdempotencyRow {
                tenant: begin.tenant.clone(),
                idempotency: idempotency.clone(),
                turn_id: Some(begin.turn_id),
            }));
    }

    /// Writes a message.
    pub(super) fn push_message(&mut self, tenant: &TenantId, message: Message) {
        self.rows.messages.push(MessageRow {
            tenant: tenant.clone(),
            message,
        });
    }
}

/// Builds the row of a queued turn. The caller sets `queued_seq`.
pub(super) fn turn_row(begin: &BeginTurn) -> TurnRow {
    TurnRow {
        tenant: begin.tenant.clone(),
        turn: begin.queued(),
        principal: begin.stamp.actor.clone(),
        message_id: begin.message_id,
        message_seq: None,
        turn_number: None,
        reply_seq: None,
        node: None,
        queued_seq: None,
        idempotency: begin.idempotency.as_ref().map(|idempotency| KeyName {
            operation: idempotency.operation.to_owned(),
            key: idempotency.key.as_str().to_owned(),
        }),
    }
}

/// Builds the row of a turn that starts at once.
pub(super) fn started_row(begin: &BeginTurn, state: &ConversationState<'_>) -> TurnRow {
    let mut row = turn_row(begin);
    row.turn = begin.started();
    row.message_seq = Some(state.message_count() + 1);
    row.turn_number = Some(state.turn_count());
    row
}

/// The ids for the events of the turn.
pub(super) fn turn_ids<'a>(begin: &BeginTurn, state: &ConversationState<'a>) -> TurnIds<'a> {
    TurnIds {
        turn_id: begin.turn_id,
        conversation_id: begin.target.id(),
        agent_id: begin.agent_id,
        user_id: state.user_id(),
    }
}
