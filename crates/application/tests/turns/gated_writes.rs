//! Writing to a store that waits for the test, or reports conflicts.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use ports::{ConditionalRows, Decision, Lane, RepositoryError, Transacted, WriteError, WriteStore};
use tokio::sync::Notify;

use crate::fixture::Fixture;

/// The way in which a write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The store is unavailable and stores nothing.
    Request,
    /// The store stores what it is asked to, and the response is lost.
    Response,
}

/// A store whose writes wait for the test, or always conflict.
pub(crate) struct GatedWrites {
    writes: Arc<dyn WriteStore>,
    /// Notifies the test that a write has arrived.
    pub(crate) arrived: Notify,
    /// Notifies the write that it may continue.
    pub(crate) proceed: Notify,
    /// The failure of the next write, if any.
    pub(crate) failure: Mutex<Option<Failure>>,
    /// True if nothing waits, and each write reports a conflict, after it was stored.
    has_conflicts: bool,
}

impl GatedWrites {
    /// Lets the cancellations by processes that are not started yet wait for the test.
    pub(crate) fn gate_cancellations(fixture: &mut Fixture) -> Arc<Self> {
        let gated = Self::over(&fixture.cancellations, false);
        fixture.cancellations = gated.clone();
        gated
    }

    pub(crate) fn with_conflicts(writes: &Arc<dyn WriteStore>) -> Arc<Self> {
        Self::over(writes, true)
    }

    fn over(writes: &Arc<dyn WriteStore>, has_conflicts: bool) -> Arc<Self> {
        Arc::new(Self {
            writes: Arc::clone(writes),
            arrived: Notify::new(),
            proceed: Notify::new(),
            failure: Mutex::default(),
            has_conflicts,
        })
    }
}

#[async_trait]
impl WriteStore for GatedWrites {
    async fn transact(
        &self,
        decision: Arc<dyn Decision>,
        lane: Lane,
    ) -> Result<Transacted, WriteError> {
        if self.has_conflicts {
            let _stored = self.writes.transact(decision, lane).await;
            return Err(RepositoryError::Stale { what: "turn" }.into());
        }
        self.arrived.notify_one();
        self.proceed.notified().await;
        let failure = self.failure.lock().take();
        if failure != Some(Failure::Request) {
            let written = self.writes.transact(decision, lane).await;
            if failure.is_none() {
                return written;
            }
        }
        Err(RepositoryError::Unavailable(format!("{failure:?}").into()).into())
    }

    /// Leaves every write to [`Self::transact`].
    async fn write_if(&self, _: Arc<ConditionalRows>) -> Result<bool, WriteError> {
        Ok(false)
    }

    fn spawn(&self, writer: BoxFuture<'static, ()>) {
        self.writes.spawn(writer);
    }
}
