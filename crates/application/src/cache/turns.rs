//! Updates of the cached conversation contexts by the writes of turns.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    AgentId, AsOf, ConversationContext, ConversationId, Listed, MessageId, NodeId, Page,
    SentMessage, Stamp, TenantId, Turn, TurnId,
};
use ports::{
    BeginOutcome, BeginTurn, CancelOutcome, Committed, CompletedTurn, ConversationName,
    ConversationTarget, FinishOutcome, FinishTurn, FoundTurn, RecordTurnOutcome, Reply,
    RepositoryError, TurnEnding, TurnQuery, TurnRepository,
};

use super::Caches;

/// A [`TurnRepository`] that updates the cached conversation contexts with its writes.
pub struct CachedTurns {
    inner: Arc<dyn TurnRepository>,
    caches: Caches,
}

/// The parts of a new turn from which the context after it is computed.
struct NewTurn {
    tenant: TenantId,
    conversation: ConversationId,
    agent: AgentId,
    /// The context before the turn, if it is cached.
    before: Option<ConversationContext>,
    client_message_id: Option<String>,
    /// The name of a conversation that is created with the turn.
    name: Option<ConversationName>,
}

impl NewTurn {
    /// Returns the context before the turn, with the message of the turn.
    fn context_with(&self, message: MessageId) -> Option<ConversationContext> {
        let context = self.before.clone()?;
        Some(ConversationContext {
            newest_message: Some(SentMessage {
                id: message,
                client_id: self.client_message_id.clone(),
            }),
            ..context
        })
    }
}

impl CachedTurns {
    /// Creates a repository that keeps `caches` valid in front of `inner`.
    pub fn new(inner: Arc<dyn TurnRepository>, caches: Caches) -> Self {
        Self { inner, caches }
    }

    fn new_turn(&self, begin: &BeginTurn) -> NewTurn {
        let before = match &begin.target {
            ConversationTarget::New(conversation) => Some(ConversationContext {
                id: conversation.id,
                agent_id: conversation.agent_id,
                user_id: conversation.user_id.clone(),
                last_message_seq: 0,
                turn_count: 0,
                running_turn: None,
                newest_message: None,
            }),
            ConversationTarget::Existing { id, turn_count } => self
                .cached_context(&begin.tenant, *id)
                .filter(|context| context.turn_count == *turn_count),
        };
        NewTurn {
            tenant: begin.tenant.clone(),
            conversation: begin.target.id(),
            agent: begin.agent_id,
            before,
            client_message_id: begin.client_message_id.clone(),
            name: match &begin.target {
                ConversationTarget::New(conversation) => ConversationName::of(conversation),
                ConversationTarget::Existing { .. } => None,
            },
        }
    }

    fn cached_context(&self, tenant: &TenantId, id: ConversationId) -> Option<ConversationContext> {
        self.caches
            .contexts
            .get(&(tenant.clone(), id))
            .map(|(context, _)| (*context).clone())
    }

    fn drop_context(&self, tenant: &TenantId, id: ConversationId) {
        self.caches.contexts.remove(&(tenant.clone(), id));
    }

    /// Drops the entries that may have caused the error, and no others: an unrelated error must not
    /// make the next caller of a busy agent read the store.
    fn drop_causes(&self, turn: NewTurn, error: Option<&RepositoryError>) {
        self.drop_context(&turn.tenant, turn.conversation);
        if error.is_none_or(|error| matches!(error, RepositoryError::Stale { .. })) {
            self.caches.agents.remove(&(turn.tenant, turn.agent));
        }
    }

    /// Caches the name of a conversation that was created with the turn.
    fn insert_name(&self, turn: &NewTurn) {
        if let Some(name) = &turn.name {
            let key = (turn.tenant.clone(), name.clone());
            self.caches.names.insert(key, turn.conversation);
        }
    }

    /// Caches the context after the turn, or drops it if it is unknown.
    fn apply_write(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        context: Option<ConversationContext>,
        committed: Committed,
    ) {
        match context {
            Some(context) => {
                let key = (tenant.clone(), id);
                self.caches
                    .contexts
                    .replace(key, Arc::new(context), committed.last);
            }
            None => self.drop_context(tenant, id),
        }
        self.caches.applied.record_write(tenant, committed);
    }
}

#[async_trait]
impl TurnRepository for CachedTurns {
    async fn record_completed_turn(
        &self,
        completed: CompletedTurn,
    ) -> Result<RecordTurnOutcome, RepositoryError> {
        let turn = self.new_turn(&completed.begin);
        let outcome = self.inner.record_completed_turn(completed).await;
        match &outcome {
            Ok(RecordTurnOutcome::Recorded { committed, place }) => {
                let context = turn.context_with(place.message.id);
                let context = context.map(|context| ConversationContext {
                    last_message_seq: place.reply_seq,
                    turn_count: context.turn_count + 1,
                    ..context
                });
                self.insert_name(&turn);
                self.apply_write(&turn.tenant, turn.conversation, context, *committed);
            }
            Ok(RecordTurnOutcome::Replayed(_)) => {}
            Ok(RecordTurnOutcome::Busy) => self.drop_context(&turn.tenant, turn.conversation),
            Ok(RecordTurnOutcome::AgentNotFound | RecordTurnOutcome::ConversationNotFound) => {
                self.drop_causes(turn, None);
            }
            Err(error) => self.drop_causes(turn, Some(error)),
        }
        outcome
    }

    async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, RepositoryError> {
        let turn = self.new_turn(&begin);
        let turn_id = begin.turn_id;
        let outcome = self.inner.begin_turn(begin).await;
        match &outcome {
            Ok(BeginOutcome::Started { committed, place }) => {
                let context = turn.context_with(place.message.id);
                let context = context.map(|context| ConversationContext {
                    last_message_seq: place.reply_seq - 1,
                    turn_count: place.turn_number + 1,
                    running_turn: Some(turn_id),
                    ..context
                });
                self.insert_name(&turn);
                self.apply_write(&turn.tenant, turn.conversation, context, *committed);
            }
            Ok(BeginOutcome::Queued(committed)) => {
                self.apply_write(&turn.tenant, turn.conversation, None, *committed);
            }
            Ok(BeginOutcome::Replayed(_)) => {}
            Ok(BeginOutcome::Busy | BeginOutcome::NodeDead) => {
                self.drop_context(&turn.tenant, turn.conversation);
            }
            Ok(BeginOutcome::AgentNotFound | BeginOutcome::ConversationNotFound) => {
                self.drop_causes(turn, None);
            }
            Err(error) => self.drop_causes(turn, Some(error)),
        }
        outcome
    }

    async fn finish_turn(&self, finish: FinishTurn) -> Result<FinishOutcome, RepositoryError> {
        let (tenant, id) = (finish.tenant.clone(), finish.conversation_id);
        let before = self
            .cached_context(&tenant, id)
            .filter(|context| context.running_turn == Some(finish.turn_id));
        let replies = i64::from(matches!(finish.ending, TurnEnding::Completed(_)));
        let outcome = self.inner.finish_turn(finish).await;
        match &outcome {
            Ok(FinishOutcome::Finished {
                committed,
                promoted: None,
            }) => {
                let context = before.map(|context| ConversationContext {
                    last_message_seq: context.last_message_seq + replies,
                    running_turn: None,
                    ..context
                });
                self.apply_write(&tenant, id, context, *committed);
            }
            Ok(FinishOutcome::Finished {
                committed,
                promoted: Some(_),
            }) => {
                self.apply_write(&tenant, id, None, *committed);
            }
            Ok(FinishOutcome::NotOwned) | Err(_) => self.drop_context(&tenant, id),
        }
        outcome
    }

    async fn cancel_turn(
        &self,
        tenant: &TenantId,
        id: TurnId,
        partial: Option<Reply>,
        node: Option<NodeId>,
        stamp: &Stamp,
    ) -> Result<CancelOutcome, RepositoryError> {
        // The conversation is not known here. Its context is dropped once the log is read; until
        // then, an outdated context only makes the store return `Stale`.
        let outcome = self
            .inner
            .cancel_turn(tenant, id, partial, node, stamp)
            .await;
        if let Ok(CancelOutcome::Cancelled { committed, .. }) = &outcome {
            self.caches.applied.announce(tenant, *committed);
        }
        outcome
    }

    async fn find(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        let found = self.inner.find(tenant, id).await?;
        // Changes of the turn by other processes reach its waiters here.
        self.caches.applied.follow(tenant, found.position);
        Ok(found)
    }

    async fn find_current(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
    ) -> Result<Option<FoundTurn>, RepositoryError> {
        self.inner.find_current(tenant, conversation).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        query: &TurnQuery,
    ) -> Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError> {
        self.inner.list(tenant, conversation, query).await
    }
}
