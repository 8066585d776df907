//! Maintenance of the cached conversation heads while turns are written.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{AgentId, AsOf, ConversationContext, ConversationId, NodeId, Stamp, TenantId, TurnId};
use ports::{
    BeginOutcome, BeginTurn, CancelOutcome, Committed, CompletedTurn, ConversationTarget,
    FinishOutcome, FinishTurn, FoundTurn, RecordTurnOutcome, Reply, RepositoryError, TurnEnding,
    TurnRepository,
};

use super::Caches;

/// A [`TurnRepository`] that updates the cached heads with its writes.
pub struct CachedTurns {
    inner: Arc<dyn TurnRepository>,
    caches: Caches,
}

/// The data of a message that a head is computed from once the store has accepted it.
struct Asked {
    tenant: TenantId,
    conversation: ConversationId,
    agent: AgentId,
    /// The head before the turn, if it is cached.
    before: Option<ConversationContext>,
}

impl CachedTurns {
    /// Creates a repository that keeps `caches` valid in front of `inner`.
    pub fn new(inner: Arc<dyn TurnRepository>, caches: Caches) -> Self {
        Self { inner, caches }
    }

    fn asked(&self, begin: &BeginTurn) -> Asked {
        let before = match &begin.target {
            ConversationTarget::New(conversation) => Some(ConversationContext {
                id: conversation.id,
                agent_id: conversation.agent_id,
                user_id: conversation.user_id.clone(),
                message_count: 0,
                turn_count: 0,
                running_turn: None,
            }),
            ConversationTarget::Existing { id, turn_count } => self
                .head(&begin.tenant, *id)
                .filter(|head| head.turn_count == *turn_count),
        };
        Asked {
            tenant: begin.tenant.clone(),
            conversation: begin.target.id(),
            agent: begin.agent_id,
            before,
        }
    }

    fn head(&self, tenant: &TenantId, id: ConversationId) -> Option<ConversationContext> {
        self.caches
            .heads
            .get(&(tenant.clone(), id))
            .map(|(head, _)| (*head).clone())
    }

    fn drop_head(&self, tenant: &TenantId, id: ConversationId) {
        self.caches.heads.remove(&(tenant.clone(), id));
    }

    /// Drops the entries that may have misled the caller, and no others: an unrelated error must
    /// not make the next caller of a busy agent read the store.
    fn misled(&self, asked: Asked, error: Option<&RepositoryError>) {
        self.drop_head(&asked.tenant, asked.conversation);
        if error.is_none_or(|error| matches!(error, RepositoryError::Stale { .. })) {
            self.caches.agents.remove(&(asked.tenant, asked.agent));
        }
    }

    /// Caches the head after the turn, or drops it if it is unknown.
    fn wrote(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        head: Option<ConversationContext>,
        committed: Committed,
    ) {
        match head {
            Some(head) => {
                let key = (tenant.clone(), id);
                self.caches
                    .heads
                    .replace(key, Arc::new(head), committed.last);
            }
            None => self.drop_head(tenant, id),
        }
        self.caches.applied.note(tenant, committed);
    }
}

#[async_trait]
impl TurnRepository for CachedTurns {
    async fn record_completed_turn(
        &self,
        exchange: CompletedTurn,
    ) -> Result<RecordTurnOutcome, RepositoryError> {
        let asked = self.asked(&exchange.begin);
        let outcome = self.inner.record_completed_turn(exchange).await;
        match &outcome {
            Ok(RecordTurnOutcome::Recorded {
                committed,
                message_seq,
            }) => {
                let head = asked.before.map(|head| ConversationContext {
                    message_count: message_seq + 1,
                    turn_count: head.turn_count + 1,
                    ..head
                });
                self.wrote(&asked.tenant, asked.conversation, head, *committed);
            }
            Ok(RecordTurnOutcome::Replayed(_)) => {}
            Ok(RecordTurnOutcome::Busy) => self.drop_head(&asked.tenant, asked.conversation),
            Ok(RecordTurnOutcome::AgentNotFound | RecordTurnOutcome::ConversationNotFound) => {
                self.misled(asked, None);
            }
            Err(error) => self.misled(asked, Some(error)),
        }
        outcome
    }

    async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, RepositoryError> {
        let asked = self.asked(&begin);
        let turn_id = begin.turn_id;
        let outcome = self.inner.begin_turn(begin).await;
        match &outcome {
            Ok(BeginOutcome::Started {
                committed,
                message_seq,
                turn_number,
            }) => {
                let head = asked.before.map(|head| ConversationContext {
                    message_count: *message_seq,
                    turn_count: turn_number + 1,
                    running_turn: Some(turn_id),
                    ..head
                });
                self.wrote(&asked.tenant, asked.conversation, head, *committed);
            }
            Ok(BeginOutcome::Queued(committed)) => {
                self.wrote(&asked.tenant, asked.conversation, None, *committed);
            }
            Ok(BeginOutcome::Replayed(_)) => {}
            Ok(BeginOutcome::Busy | BeginOutcome::NodeRefused) => {
                self.drop_head(&asked.tenant, asked.conversation);
            }
            Ok(BeginOutcome::AgentNotFound | BeginOutcome::ConversationNotFound) => {
                self.misled(asked, None);
            }
            Err(error) => self.misled(asked, Some(error)),
        }
        outcome
    }

    async fn finish_turn(&self, finish: FinishTurn) -> Result<FinishOutcome, RepositoryError> {
        let (tenant, id) = (finish.tenant.clone(), finish.conversation_id);
        let before = self
            .head(&tenant, id)
            .filter(|head| head.running_turn == Some(finish.turn_id));
        let answered = i64::from(matches!(finish.ending, TurnEnding::Completed(_)));
        let outcome = self.inner.finish_turn(finish).await;
        match &outcome {
            Ok(FinishOutcome::Finished {
                committed,
                promoted: None,
            }) => {
                let head = before.map(|head| ConversationContext {
                    message_count: head.message_count + answered,
                    running_turn: None,
                    ..head
                });
                self.wrote(&tenant, id, head, *committed);
            }
            Ok(FinishOutcome::Finished {
                committed,
                promoted: Some(_),
            }) => {
                self.wrote(&tenant, id, None, *committed);
            }
            Ok(FinishOutcome::Refused) | Err(_) => self.drop_head(&tenant, id),
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
        // The conversation is not known here. Its head is dropped once the log is read; until then,
        // an outdated head only makes the store return `Stale`.
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
        self.inner.find(tenant, id).await
    }
}
