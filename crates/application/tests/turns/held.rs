//! A turn repository whose cancellations wait for the test.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use domain::{AsOf, NodeId, Stamp, TenantId, TurnId};
use ports::{
    BeginOutcome, BeginTurn, CancelOutcome, CompletedTurn, FinishOutcome, FinishTurn, FoundTurn,
    RecordTurnOutcome, Reply, RepositoryError, TurnRepository,
};
use tokio::sync::Notify;

/// The way in which a cancellation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The store is unavailable and stores nothing.
    Question,
    /// The store stores the cancellation, and the response is lost.
    Answer,
}

/// A turn repository whose cancellations wait for the test.
pub(crate) struct Held {
    pub(crate) turns: Arc<dyn TurnRepository>,
    /// Notifies the test that a cancellation has arrived.
    pub(crate) come: Notify,
    /// Notifies the cancellation that it may continue.
    pub(crate) go_on: Notify,
    /// The failure of the next cancellation, if any.
    pub(crate) lost: Mutex<Option<Lost>>,
}

impl Held {
    pub(crate) fn over(turns: &Arc<dyn TurnRepository>) -> Arc<Self> {
        Arc::new(Self {
            turns: Arc::clone(turns),
            come: Notify::new(),
            go_on: Notify::new(),
            lost: Mutex::default(),
        })
    }
}

#[async_trait]
impl TurnRepository for Held {
    async fn record_completed_turn(
        &self,
        exchange: CompletedTurn,
    ) -> Result<RecordTurnOutcome, RepositoryError> {
        self.turns.record_completed_turn(exchange).await
    }

    async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, RepositoryError> {
        self.turns.begin_turn(begin).await
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
        self.come.notify_one();
        self.go_on.notified().await;
        let lost = self
            .lost
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if lost != Some(Lost::Question) {
            let turns = &self.turns;
            let cancelled = turns.cancel_turn(tenant, id, partial, node, stamp).await;
            if lost.is_none() {
                return cancelled;
            }
        }
        Err(RepositoryError::Unavailable(format!("{lost:?}").into()))
    }

    async fn find(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        self.turns.find(tenant, id).await
    }
}
