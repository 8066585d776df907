//! A turn repository whose cancellations wait for the test.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use domain::{AsOf, ConversationId, Listed, NodeId, Page, Stamp, TenantId, Turn, TurnId};
use parking_lot::Mutex;
use ports::{
    BeginOutcome, BeginTurn, CancelOutcome, CompletedTurn, FinishOutcome, FinishTurn, FoundTurn,
    RecordTurnOutcome, Reply, RepositoryError, TurnQuery, TurnRepository,
};
use tokio::sync::Notify;

/// The way in which a cancellation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The store is unavailable and stores nothing.
    Request,
    /// The store stores the cancellation, and the response is lost.
    Response,
}

/// A turn repository whose cancellations wait for the test.
pub(crate) struct GatedTurns {
    pub(crate) turns: Arc<dyn TurnRepository>,
    /// Notifies the test that a cancellation has arrived.
    pub(crate) arrived: Notify,
    /// Notifies the cancellation that it may continue.
    pub(crate) proceed: Notify,
    /// The failure of the next cancellation, if any.
    pub(crate) failure: Mutex<Option<Failure>>,
    /// True if each start of a turn reports a conflict, after the turn was stored.
    pub(crate) has_conflicts: AtomicBool,
}

impl GatedTurns {
    pub(crate) fn over(turns: &Arc<dyn TurnRepository>) -> Arc<Self> {
        Arc::new(Self {
            turns: Arc::clone(turns),
            arrived: Notify::new(),
            proceed: Notify::new(),
            failure: Mutex::default(),
            has_conflicts: AtomicBool::default(),
        })
    }
}

#[async_trait]
impl TurnRepository for GatedTurns {
    async fn record_completed_turn(
        &self,
        completed: CompletedTurn,
    ) -> Result<RecordTurnOutcome, RepositoryError> {
        self.turns.record_completed_turn(completed).await
    }

    async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, RepositoryError> {
        let outcome = self.turns.begin_turn(begin).await;
        if self.has_conflicts.load(Ordering::SeqCst) {
            return Err(RepositoryError::Stale { what: "turn" });
        }
        outcome
    }

    async fn finish_turn(&self, finish: FinishTurn) -> Result<FinishOutcome, RepositoryError> {
        self.turns.finish_turn(finish).await
    }

    async fn cancel_turn(
        &self,
        tenant: &TenantId,
        id: TurnId,
        partial: Option<Reply>,
        node: Option<NodeId>,
        stamp: &Stamp,
    ) -> Result<CancelOutcome, RepositoryError> {
        self.arrived.notify_one();
        self.proceed.notified().await;
        let failure = self.failure.lock().take();
        if failure != Some(Failure::Request) {
            let turns = &self.turns;
            let cancelled = turns.cancel_turn(tenant, id, partial, node, stamp).await;
            if failure.is_none() {
                return cancelled;
            }
        }
        Err(RepositoryError::Unavailable(format!("{failure:?}").into()))
    }

    async fn find(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        self.turns.find(tenant, id).await
    }

    async fn find_current(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
    ) -> Result<Option<FoundTurn>, RepositoryError> {
        self.turns.find_current(tenant, conversation).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        query: &TurnQuery,
    ) -> Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError> {
        self.turns.list(tenant, conversation, query).await
    }
}
