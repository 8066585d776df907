//! The state of the conversation in which a turn begins.

use domain::{
    Conversation, Handler, IdempotencyRecord, Timestamp, TurnId, TurnStatus,
    admission::{Admission, Occupancy, OnBusy, admit},
};
use ports::{
    Facts, RepositoryError,
    write_store::{ConversationFacts, TurnRow},
};

use crate::{AnsweredMessage, BeginTurn, ConversationTarget, TurnMessages};

/// The reason why a turn may not begin. Nothing is written then.
pub(super) enum Rejection {
    /// Its idempotency key was used before.
    Replayed(Box<IdempotencyRecord>),
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
            return Err(Rejection::Replayed(Box::new(record.clone())));
        }
        if begin.stored_agent_version(facts).is_none() {
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

    /// Decides whether the turn starts, is queued or is rejected. A turn that supersedes messages is
    /// never queued: the messages would not be the newest when it starts. While staff handles the
    /// conversation, none is superseded, and the agent takes no instruction.
    pub(super) fn admit(&self, begin: &BeginTurn) -> Admission {
        let needs_agent = begin.supersession.is_some() || begin.instruction.is_some();
        if needs_agent && self.is_for_staff() {
            return Admission::Busy;
        }
        let on_busy = match begin.supersession {
            Some(_) => OnBusy::Reject,
            None => begin.on_busy,
        };
        let occupancy = match self {
            Self::New(_) => Occupancy {
                running: false,
                queued: 0,
            },
            Self::Existing(found) => Occupancy {
                running: found.running.is_some() && !self.dismisses(begin),
                queued: found.queued_messages(),
            },
        };
        admit(occupancy, on_busy)
    }

    /// Returns whether the turn takes the place of one that waits for an answer.
    pub(super) fn dismisses(&self, begin: &BeginTurn) -> bool {
        let is_accepted = begin.supersession.is_some() || begin.on_busy == OnBusy::Queue;
        self.is_waiting() && is_accepted
    }

    /// Returns whether a turn waits for an answer to a tool call.
    pub(super) const fn is_waiting(&self) -> bool {
        matches!(self, Self::Existing(found) if found.is_waiting)
    }

    /// Returns whether a turn is queued or in progress.
    pub(super) const fn has_open_turns(&self) -> bool {
        match self {
            Self::New(_) => false,
            Self::Existing(found) => found.has_open_turns(),
        }
    }

    /// Checks that the conversation belongs to the only user to whom it may.
    pub(super) fn check_user(&self, begin: &BeginTurn) -> Result<(), RepositoryError> {
        if begin.only_of.is_some() && begin.only_of.as_deref() != self.user_id() {
            return Err(RepositoryError::Stale {
                what: "conversation",
            });
        }
        Ok(())
    }

    /// Checks the agent version, the turn count and the unused name that the caller assumed.
    pub(super) fn check(&self, facts: &Facts, begin: &BeginTurn) -> Result<(), RepositoryError> {
        if begin.stored_agent_version(facts) != Some(begin.agent_version) {
            return Err(RepositoryError::Stale { what: "agent" });
        }
        let is_current = match (self, &begin.target) {
            (Self::Existing(found), ConversationTarget::Existing { turn_count, .. }) => {
                found.turn_count == *turn_count
            }
            (Self::New(conversation), _) => !facts.is_name_used(&begin.tenant, conversation),
            (Self::Existing(_), ConversationTarget::New(_)) => true,
        };
        if !is_current {
            return Err(RepositoryError::Stale {
                what: "conversation",
            });
        }
        Ok(())
    }

    /// Returns the messages of a turn that starts now.
    pub(super) fn messages(&self, facts: &Facts, begin: &BeginTurn) -> TurnMessages {
        let next_seq = self.last_message_seq() + 1;
        let answered = begin.supersession.and_then(|it| it.answered);
        let retried = self.message_to_reuse(facts, begin);
        let new = AnsweredMessage {
            id: begin.message_id,
            seq: next_seq,
        };
        let stored = answered.or(retried).map(|stored| (stored, next_seq));
        let (message, reply_seq) = match (&begin.instruction, stored) {
            // Where the message would stand, the reply will.
            (Some(_), _) => (new, next_seq),
            (None, Some(stored)) => stored,
            (None, None) => (new, next_seq + 1),
        };
        TurnMessages {
            message,
            reply_seq,
            turn_number: self.turn_count(),
            retry_of: self.repeated_turn(facts, begin),
            are_for_staff: self.is_for_staff(),
        }
    }

    /// The turn that this one repeats, and whose calls it learns of: the failed one or, if that never
    /// started, the one that it was to repeat.
    pub(super) fn repeated_turn(&self, facts: &Facts, begin: &BeginTurn) -> Option<TurnId> {
        let failed = self.failed_turn(facts, begin)?;
        match failed.message_seq {
            Some(_) => Some(failed.turn.id),
            None => failed.turn.retry_of,
        }
    }

    /// The message of the failed turn with the same key, if it is still the newest one.
    fn message_to_reuse(&self, facts: &Facts, begin: &BeginTurn) -> Option<AnsweredMessage> {
        let Self::Existing(found) = self else {
            return None;
        };
        let failed = self.failed_turn(facts, begin)?;
        let seq = failed.message_seq?;
        (seq == found.visible_message_seq).then_some(AnsweredMessage {
            id: failed.message_id,
            seq,
        })
    }

    /// The failed turn of the same command, which has released the key.
    fn failed_turn<'f>(&self, facts: &'f Facts, begin: &BeginTurn) -> Option<&'f TurnRow> {
        if matches!(self, Self::New(_)) || begin.supersession.is_some() {
            return None;
        }
        let entry = begin.idempotency.as_ref()?;
        let record = facts.existing_record(&begin.tenant, Some(entry))?;
        let failed = facts.turn(&begin.tenant, record.released_by?)?;
        let is_repeated = record.fingerprint == entry.fingerprint
            && failed.turn.status == TurnStatus::Failed
            && failed.turn.conversation_id == begin.target.id();
        is_repeated.then_some(failed)
    }

    /// The user that the conversation belongs to.
    pub(super) fn user_id(&self) -> Option<&'a str> {
        match self {
            Self::New(conversation) => conversation.user_id.as_deref(),
            Self::Existing(found) => found.user_id.as_deref(),
        }
    }

    /// The `seq` of the last message, superseded or not.
    pub(super) const fn last_message_seq(&self) -> i64 {
        match self {
            Self::New(_) => 0,
            Self::Existing(found) => found.last_message_seq,
        }
    }

    /// The number of superseded messages after the turn has started.
    pub(super) fn superseded_count(&self, begin: &BeginTurn) -> i64 {
        match (self, begin.supersession) {
            (Self::New(_), _) => 0,
            (Self::Existing(found), Some(supersession)) => {
                found.last_message_seq - supersession.kept - found.staff_messages
            }
            (Self::Existing(found), None) => found.superseded_count,
        }
    }

    /// Returns since when the user waits for staff, once it has sent a message at `at`.
    pub(super) fn waiting_since(&self, at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::New(conversation) => conversation.waiting_since,
            Self::Existing(found) if self.is_for_staff() => found.waiting_since.or(Some(at)),
            Self::Existing(found) => found.waiting_since,
        }
    }

    /// Returns whether staff handles the conversation.
    pub(super) fn is_for_staff(&self) -> bool {
        match self {
            Self::New(conversation) => conversation.handled_by == Handler::Staff,
            Self::Existing(found) => found.is_for_staff(),
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

/// Returns true if `begin` repeats the request of a record. A released record blocks only the same
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
