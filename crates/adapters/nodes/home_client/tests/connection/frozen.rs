//! A proxy that answers PINGs while the node behind it does not respond.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use domain::{Seq, TenantId};
use home_client::{FarProcess, HomeBus};
use ports::{
    EventDecision, EventLog, EventPage, EventQuery, HomeError, LogBounds, LogHead, LoggedChange,
    RepositoryError,
};
use tokio::{task::JoinSet, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::peer::{Client, Peer};

/// The time after which a node counts as frozen: that of a request of the far node itself, and that of
/// the first attempt to connect.
const NOTICED: Duration = Duration::from_secs(7);

#[tokio::test]
async fn requests_are_rejected_while_no_node_responds_behind_the_proxy() {
    let peer = Peer::start(&[]).await;
    let client = Arc::new(Client::of(peer.address));
    let stop = CancellationToken::new();
    let process = FarProcess {
        id: Uuid::nil(),
        version: "1",
        store: Uuid::nil(),
    };
    let _bus = HomeBus::start(
        &client.home,
        Arc::new(NoLog),
        &process,
        Arc::default(),
        &TaskTracker::new(),
        &stop,
    );
    client.write(false).await.expect("a response");
    peer.freeze();
    let began = Instant::now();
    let sender = Arc::clone(&client);
    let mut waiting = JoinSet::new();
    waiting.spawn(async move { sender.write(false).await });
    loop {
        let sent = timeout(Duration::from_secs(1), client.write(false));
        if let Ok(Err(HomeError::Unreachable(_))) = sent.await {
            break;
        }
        assert!(began.elapsed() < NOTICED, "requests wait");
    }
    // The outcome of the request that was sent before is unknown.
    let ended = timeout(Duration::from_secs(1), waiting.join_next()).await;
    let ended = ended.expect("a request waits for ever");
    assert!(matches!(ended, Some(Ok(Err(HomeError::Lost(_))))));
}

/// A replica that is not read.
struct NoLog;

fn unread<T>() -> Result<T, RepositoryError> {
    Err(RepositoryError::Unavailable("not read".into()))
}

#[async_trait]
impl EventLog for NoLog {
    async fn page(
        &self,
        _: &TenantId,
        _: &EventQuery,
        _: &dyn EventDecision,
    ) -> Result<EventPage, RepositoryError> {
        unread()
    }

    async fn count(&self, _: &TenantId, _: &EventQuery) -> Result<usize, RepositoryError> {
        unread()
    }

    async fn bounds(&self, _: &TenantId) -> Result<LogBounds, RepositoryError> {
        unread()
    }

    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError> {
        unread()
    }

    async fn changes(
        &self,
        _: &TenantId,
        _: Seq,
        _: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        unread()
    }
}
