//! Whether a question is allowed, and where it goes.

use domain::{
    Conversation, IdempotencyRecord, Message, Seq, TenantId, Timestamp,
    admission::{Admission, Occupancy, OnBusy, admit},
};
use ports::{BeginTurn, ExchangeTarget, RepositoryError};

use super::Planner;
use crate::{
    ClaimName, ClaimRow, ConversationAdvance, ConversationFacts, ConversationRow, Facts,
    MessageRow, TurnRow,
    event_rows::{self, TurnPlace},
};

/// Why a question is not taken. Nothing is written then.
pub(super) enum Refusal {
    /// Its key was used before.
    Repeated(IdempotencyRecord),
    /// There is no such agent.
    AgentNotFound,
    /// There is no such conversation of this agent.
    ConversationNotFound,
}

/// The conversation that a question meets.
pub(super) enum Room<'a> {
    /// One that begins with this question.
    New(&'a Conversation),
    /// One that exists.
    Existing(&'a ConversationFacts),
}

impl<'a> Room<'a> {
    /// Judges the key first, then whether agent and conversation exist.
    pub(super) fn of(facts: &'a Facts, question: &'a BeginTurn) -> Result<Self, Refusal> {
        let claim = question.claim.as_ref();
        let used = claim.and_then(|claim| facts.used(&question.tenant, claim));
        if let Some(record) = used.filter(|record| counts(record, question)) {
            return Err(Refusal::Repeated(record.clone()));
        }
        if facts.agent_version(question).is_none() {
            return Err(Refusal::AgentNotFound);
        }
        match &question.target {
            ExchangeTarget::New(conversation) => Ok(Self::New(conversation)),
            ExchangeTarget::Existing { id, .. } => facts
                .conversation(&question.tenant, *id)
                .filter(|found| found.agent_id == question.agent_id)
                .map(Self::Existing)
                .ok_or(Refusal::ConversationNotFound),
        }
    }

    /// Decides whether the question may start, waits or is refused.
    pub(super) fn admit(&self, on_busy: OnBusy) -> Admission {
        let occupancy = match self {
            Self::New(_) => Occupancy {
                running: false,
                waiting: 0,
            },
            Self::Existing(found) => Occupancy {
                running: found.running.is_some(),
                waiting: found.waiting,
            },
        };
        admit(occupancy, on_busy)
    }

    /// Checks what the caller assumed of agent and conversation.
    pub(super) fn check(&self, facts: &Facts, question: &BeginTurn) -> Result<(), RepositoryError> {
        if facts.agent_version(question) != Some(question.agent_version) {
            return Err(RepositoryError::Stale { what: "agent" });
        }
        match (self, &question.target) {
            (Self::Existing(found), ExchangeTarget::Existing { turn_count, .. })
                if found.turn_count != *turn_count =>
            {
                Err(RepositoryError::Stale {
                    what: "conversation",
                })
            }
            _ => Ok(()),
        }
    }

    /// The person the conversation belongs to.
    pub(super) fn user_id(&self) -> Option<&'a str> {
        match self {
            Self::New(conversation) => conversation.user_id.as_deref(),
            Self::Existing(found) => found.user_id.as_deref(),
        }
    }

    /// Messages so far.
    pub(super) const fn message_count(&self) -> i64 {
        match self {
            Self::New(_) => 0,
            Self::Existing(found) => found.message_count,
        }
    }

    /// Turns started so far.
    pub(super) const fn turn_count(&self) -> i64 {
        match self {
            Self::New(_) => 0,
            Self::Existing(found) => found.turn_count,
        }
    }
}

/// Whether a record stands in the way of `question`. One that was released is free, but for a
/// repetition that would begin a conversation and does not know of the one there was.
fn counts(record: &IdempotencyRecord, question: &BeginTurn) -> bool {
    let fingerprint = question.claim.as_ref().map(|claim| claim.fingerprint);
    let begins_anew = matches!(question.target, ExchangeTarget::New(_)) && !question.goes_on;
    record.released_into.is_none() || (begins_anew && fingerprint == Some(record.fingerprint))
}

impl Planner<'_> {
    /// Logs that the conversation was made, if this question makes it.
    pub(super) fn log_creation(&mut self, question: &BeginTurn, room: &Room<'_>) -> Option<Seq> {
        let Room::New(conversation) = room else {
            return None;
        };
        Some(self.log(&question.tenant, &question.stamp, |place| {
            event_rows::conversation_created(place, conversation)
        }))
    }

    /// Stores a started turn's conversation: made, or `messages` further.
    pub(super) fn enter(
        &mut self,
        question: &BeginTurn,
        room: &Room<'_>,
        messages: i64,
        at: Timestamp,
    ) {
        let message_count = room.message_count() + messages;
        let turn_count = room.turn_count() + 1;
        let sort_seq = self.head(&question.tenant);
        match room {
            Room::New(conversation) => self.rows.conversations.push(ConversationRow {
                tenant: question.tenant.clone(),
                conversation: Conversation {
                    message_count,
                    updated_at: at.max(conversation.updated_at),
                    last_message_at: Some(at.max(conversation.created_at)),
                    ..(*conversation).clone()
                },
                turn_count,
                sort_seq,
            }),
            Room::Existing(found) => self.advance(
                found,
                ConversationAdvance {
                    tenant: question.tenant.clone(),
                    id: question.target.id(),
                    message_count,
                    turn_count,
                    updated_at: at,
                    last_message_at: Some(at),
                    sort_seq,
                },
            ),
        }
    }

    /// Stores the question's key.
    pub(super) fn claim(&mut self, question: &BeginTurn) {
        self.rows
            .claims
            .extend(question.claim.iter().map(|claim| ClaimRow {
                tenant: question.tenant.clone(),
                claim: claim.clone(),
                turn_id: Some(question.turn_id),
            }));
    }

    /// Stores a message.
    pub(super) fn say(&mut self, tenant: &TenantId, message: Message) {
        self.rows.messages.push(MessageRow {
            tenant: tenant.clone(),
            message,
        });
    }
}

/// The row of a turn that waits. Its place in the queue is to be set.
pub(super) fn turn_row(question: &BeginTurn) -> TurnRow {
    TurnRow {
        tenant: question.tenant.clone(),
        turn: question.queued(),
        principal: question.stamp.actor.clone(),
        message_id: question.message_id,
        message_seq: None,
        turn_number: None,
        reply_seq: None,
        node: None,
        queued_seq: None,
        claim: question.claim.as_ref().map(|claim| ClaimName {
            operation: claim.operation.to_owned(),
            key: claim.key.as_str().to_owned(),
        }),
    }
}

/// The row of a turn that starts at once in `room`.
pub(super) fn started_row(question: &BeginTurn, room: &Room<'_>) -> TurnRow {
    let mut row = turn_row(question);
    row.turn = question.started();
    row.message_seq = Some(room.message_count() + 1);
    row.turn_number = Some(room.turn_count());
    row
}

/// What the events of the question's turn say.
pub(super) fn turn_place<'a>(question: &BeginTurn, room: &Room<'a>) -> TurnPlace<'a> {
    TurnPlace {
        turn_id: question.turn_id,
        conversation_id: question.target.id(),
        agent_id: question.agent_id,
        user_id: room.user_id(),
    }
}
