//! The cached conversation states after writes of turns.

use std::sync::Arc;

use domain::{
    AgentId, ConversationId, ConversationState, MessageId, SentMessage, TenantId, TurnId,
};
use ports::{ConversationName, RepositoryError};
use writes::{
    AnswerOutcome, AnswerTurn, BeginOutcome, BeginTurn, CancelOutcome, CancelTurn, Committed,
    CompletedTurn, ConversationTarget, FailQueuedTurn, FinishOutcome, FinishTurn, RecordSteps,
    RecordStepsOutcome, RecordTurnOutcome, SuspendOutcome, SuspendTurn, Sweep, TurnEnding,
};

use super::{AnnouncedCommand, CachedCommand, Caches};

/// The parts of a new turn from which the state after it is computed.
pub struct NewTurn {
    tenant: TenantId,
    conversation: ConversationId,
    agent: AgentId,
    /// The state before the turn, if it is cached.
    before: Option<ConversationState>,
    /// True if the conversation is created with the turn.
    is_new: bool,
    client_message_id: Option<String>,
    turn: TurnId,
    /// The name of a conversation that is created with the turn.
    name: Option<ConversationName>,
    /// The context of a conversation that is created with the turn.
    new_context: Option<Arc<Option<Arc<str>>>>,
}

impl NewTurn {
    /// Returns the cached state from which the one after the turn is computed.
    fn base(&self) -> Option<&ConversationState> {
        self.before.as_ref().filter(|_| !self.is_new)
    }

    /// Returns the state before the turn, with the message of the turn.
    fn state_with(&self, message: MessageId) -> Option<ConversationState> {
        let state = self.before.clone()?;
        Some(ConversationState {
            newest_message: Some(SentMessage {
                id: message,
                client_id: self.client_message_id.clone(),
            }),
            ..state
        })
    }
}

impl Caches {
    fn new_turn(&self, begin: &BeginTurn) -> NewTurn {
        let before = match &begin.target {
            ConversationTarget::New(conversation) => Some(ConversationState {
                id: conversation.id,
                agent_id: conversation.agent_id,
                user_id: conversation.user_id.clone(),
                last_message_seq: 0,
                turn_count: 0,
                running_turn: None,
                newest_message: None,
            }),
            ConversationTarget::Existing { id, turn_count } => self
                .state(&begin.tenant, *id)
                .filter(|state| state.turn_count == *turn_count),
        };
        NewTurn {
            tenant: begin.tenant.clone(),
            conversation: begin.target.id(),
            agent: begin.agent_id,
            before,
            is_new: matches!(begin.target, ConversationTarget::New(_)),
            client_message_id: begin.client_message_id.clone(),
            turn: begin.turn_id,
            name: match &begin.target {
                ConversationTarget::New(conversation) => ConversationName::of(conversation),
                ConversationTarget::Existing { .. } => None,
            },
            new_context: match &begin.target {
                ConversationTarget::New(conversation) => {
                    let context = conversation.context.as_deref();
                    Some(Arc::new(context.map(Arc::from)))
                }
                ConversationTarget::Existing { .. } => None,
            },
        }
    }

    fn state(&self, tenant: &TenantId, id: ConversationId) -> Option<ConversationState> {
        let cached = self.states.get(&(tenant.clone(), id));
        cached.map(|(state, _)| (*state).clone())
    }

    fn drop_state(&self, tenant: &TenantId, id: ConversationId) {
        self.states.remove(&(tenant.clone(), id));
    }

    /// Drops the entries that may have caused the error, and no others: an unrelated error must not
    /// make the next caller of a busy agent read the store.
    fn drop_causes(&self, turn: NewTurn, error: Option<&RepositoryError>) {
        self.drop_state(&turn.tenant, turn.conversation);
        if error.is_none_or(|error| matches!(error, RepositoryError::Stale { .. })) {
            self.agents.remove(&(turn.tenant, turn.agent));
        }
    }

    /// Caches the name of a conversation that was created with the turn.
    fn insert_name(&self, turn: &NewTurn) {
        if let Some(name) = &turn.name {
            let key = (turn.tenant.clone(), name.clone());
            self.names.insert(key, turn.conversation);
        }
    }

    /// Caches the state after the turn, or drops it if it is unknown. One that is computed from a cached
    /// `base` is not cached if the conversation has moved to another user meanwhile.
    fn apply_state(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        base: Option<&ConversationState>,
        state: Option<ConversationState>,
        committed: Committed,
    ) {
        let key = || (tenant.clone(), id);
        match (state.map(Arc::new), base, committed.last) {
            (Some(state), Some(base), last) => {
                self.states.replace_computed(key(), base, state, last);
            }
            (Some(state), None, last) => self.states.replace(key(), state, last),
            (None, ..) => self.drop_state(tenant, id),
        }
        self.applied.record_write(tenant, committed);
    }
}

impl CachedCommand for CompletedTurn {
    type Before = NewTurn;

    fn before(&self, caches: &Caches) -> Self::Before {
        caches.new_turn(&self.begin)
    }

    fn apply(
        turn: Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        match outcome {
            Ok(RecordTurnOutcome::Recorded {
                committed,
                messages,
            }) => {
                let state = turn.state_with(messages.message.id);
                let state = state.map(|state| ConversationState {
                    last_message_seq: messages.reply_seq,
                    turn_count: state.turn_count + 1,
                    ..state
                });
                caches.insert_name(&turn);
                let (id, base) = (turn.conversation, turn.base());
                caches.apply_state(&turn.tenant, id, base, state, *committed);
            }
            Ok(RecordTurnOutcome::Replayed(_) | RecordTurnOutcome::FileUnusable(_)) => {}
            Ok(RecordTurnOutcome::Busy) => caches.drop_state(&turn.tenant, turn.conversation),
            Ok(RecordTurnOutcome::AgentNotFound | RecordTurnOutcome::ConversationNotFound) => {
                caches.drop_causes(turn, None);
            }
            Err(error) => caches.drop_causes(turn, Some(error)),
        }
    }
}

impl CachedCommand for BeginTurn {
    type Before = NewTurn;

    fn before(&self, caches: &Caches) -> Self::Before {
        caches.new_turn(self)
    }

    fn apply(
        turn: Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        match outcome {
            Ok(BeginOutcome::Started {
                committed,
                messages,
            }) => {
                let state = turn.state_with(messages.message.id);
                let state = state.map(|state| ConversationState {
                    last_message_seq: messages.reply_seq - 1,
                    turn_count: messages.turn_number + 1,
                    running_turn: Some(turn.turn),
                    ..state
                });
                caches.insert_name(&turn);
                if let Some(context) = turn.new_context.clone() {
                    let key = (turn.tenant.clone(), turn.conversation);
                    caches.contexts.replace(key, context, committed.last);
                }
                let (id, base) = (turn.conversation, turn.base());
                caches.apply_state(&turn.tenant, id, base, state, *committed);
            }
            Ok(BeginOutcome::Queued(committed)) => {
                caches.apply_state(&turn.tenant, turn.conversation, None, None, *committed);
            }
            Ok(BeginOutcome::Replayed(_) | BeginOutcome::FileUnusable(_)) => {}
            Ok(BeginOutcome::Busy | BeginOutcome::ActionRequired | BeginOutcome::NodeDead) => {
                caches.drop_state(&turn.tenant, turn.conversation);
            }
            Ok(BeginOutcome::AgentNotFound | BeginOutcome::ConversationNotFound) => {
                caches.drop_causes(turn, None);
            }
            Err(error) => caches.drop_causes(turn, Some(error)),
        }
    }
}

/// The part of a running turn from which the state after it is computed.
pub struct EndedTurn {
    tenant: TenantId,
    conversation: ConversationId,
    /// The state before the end, if it is cached.
    before: Option<ConversationState>,
    replies: i64,
}

impl CachedCommand for FinishTurn {
    type Before = EndedTurn;

    fn before(&self, caches: &Caches) -> Self::Before {
        let before = caches.state(&self.tenant, self.conversation_id);
        EndedTurn {
            tenant: self.tenant.clone(),
            conversation: self.conversation_id,
            before: before.filter(|state| state.running_turn == Some(self.turn_id)),
            replies: i64::from(matches!(self.ending, TurnEnding::Completed(_))),
        }
    }

    fn apply(
        turn: Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        let (tenant, id) = (&turn.tenant, turn.conversation);
        match outcome {
            Ok(FinishOutcome::Finished {
                committed,
                promoted: None,
            }) => {
                let state = turn.before.clone().map(|state| ConversationState {
                    last_message_seq: state.last_message_seq + turn.replies,
                    running_turn: None,
                    ..state
                });
                caches.apply_state(tenant, id, turn.before.as_ref(), state, *committed);
            }
            Ok(FinishOutcome::Finished {
                committed,
                promoted: Some(_),
            }) => caches.apply_state(tenant, id, None, None, *committed),
            Ok(FinishOutcome::NotOwned) | Err(_) => caches.drop_state(tenant, id),
        }
    }
}

impl CachedCommand for SuspendTurn {
    type Before = (TenantId, ConversationId);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.conversation_id)
    }

    fn apply(
        (tenant, id): Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        caches.drop_state(&tenant, id);
        if let Ok(SuspendOutcome::Waits(committed) | SuspendOutcome::Dismissed { committed, .. }) =
            outcome
        {
            caches.applied.announce(&tenant, *committed);
        }
    }
}

impl AnnouncedCommand for RecordSteps {
    fn tenant(&self) -> &TenantId {
        &self.tenant
    }

    fn committed(outcome: &Self::Outcome) -> Option<Committed> {
        match outcome {
            RecordStepsOutcome::Recorded(committed) => *committed,
            RecordStepsOutcome::NotOwned => None,
        }
    }
}

impl CachedCommand for AnswerTurn {
    type Before = (TenantId, ConversationId);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.conversation_id)
    }

    fn apply(
        (tenant, id): Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        caches.drop_state(&tenant, id);
        if let Ok(AnswerOutcome::Stored { committed, .. }) = outcome {
            caches.applied.announce(&tenant, *committed);
        }
    }
}

impl CachedCommand for CancelTurn {
    type Before = (TenantId, ConversationId);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.conversation_id)
    }

    fn apply(
        (tenant, id): Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        caches.drop_state(&tenant, id);
        if let Ok(CancelOutcome::Cancelled { committed, .. }) = outcome {
            caches.applied.announce(&tenant, *committed);
        }
    }
}

impl CachedCommand for FailQueuedTurn {
    type Before = TenantId;

    fn before(&self, _caches: &Caches) -> Self::Before {
        self.tenant.clone()
    }

    /// A queued turn is not part of a state.
    fn apply(
        tenant: Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        if let Ok(Some(committed)) = outcome {
            caches.applied.announce(&tenant, *committed);
        }
    }
}

impl CachedCommand for Sweep {
    type Before = TenantId;

    fn before(&self, _caches: &Caches) -> Self::Before {
        self.tenant.clone()
    }

    /// Its conversations are not known here. Their states are dropped once the log is read; until
    /// then, an outdated one only makes a decision `Stale`.
    fn apply(
        tenant: Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        let committed = outcome.as_ref().ok().and_then(|swept| swept.committed);
        if let Some(committed) = committed {
            caches.applied.announce(&tenant, committed);
        }
    }
}
