//! Reports of this process to the home region, which lists its node.

use std::{sync::Arc, time::Duration};

use domain::{LEVEL, NodeId};
use http::Request;
use ports::FarNodeReport;
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval},
};
use uuid::Uuid;

use crate::{HomeClient, wire::NODE_PATH};

/// The interval between two reports: that at which nodes on one store renew their leases.
const INTERVAL: Duration = Duration::from_secs(3);

/// This process, as a node of a far region.
pub struct FarProcess {
    /// An id that is unique to it.
    pub id: Uuid,
    /// The version of the program.
    pub version: &'static str,
    /// The id of the store that its replica is a copy of.
    pub store: Uuid,
}

/// Reports this process until the task is dropped: every few seconds, and once its stream is open.
pub(crate) async fn report(home: Arc<HomeClient>, process: Uuid, version: &'static str) {
    let started_at = Instant::now();
    let mut stream_since = home.stream_since();
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = opened(&mut stream_since) => ticks.reset(),
        }
        let since = *stream_since.borrow_and_update();
        let report = FarNodeReport {
            id: NodeId::new(process),
            version: version.to_owned(),
            running_for: started_at.elapsed(),
            connected_for: since.map(|since| since.elapsed()),
            level: Some(LEVEL),
        };
        // All members are serialisable.
        let report = serde_json::to_vec(&report).unwrap_or_default();
        let request = Request::post(NODE_PATH).body(report.into());
        if let Err(error) = home.send_own(request).await {
            let error = ports::error::one_line(&error);
            tracing::debug!(error, "cannot report this node to the home region");
        }
    }
}

/// Waits until the stream is opened again.
async fn opened(stream_since: &mut watch::Receiver<Option<Instant>>) {
    // Never fails: the client that is held here owns the sender.
    while stream_since.changed().await.is_ok() && stream_since.borrow().is_none() {}
}
