//! Builds real-time delivery: the event bus, the caches that follow the log, and the log reader
//! that all followers share.

use std::sync::Arc;

use anyhow::Result;
use application::{
    cache::{CacheInvalidator, Caches},
    realtime::{LogReader, LogTails, Typing},
};
use ports::{Clock, LogHead};
use tokio::{runtime::Handle, sync::watch};

use super::Parts;

/// The services for real-time delivery.
pub(super) struct Realtime {
    /// The caches that the log invalidates.
    pub(super) caches: Caches,
    /// The reader of the event log.
    pub(super) log: Arc<LogReader>,
    /// The heads of all logs, which are read every second.
    pub(super) heads: watch::Receiver<Arc<[LogHead]>>,
    /// The typing indicators.
    pub(super) typing: Arc<Typing>,
}

/// Builds the services and starts their background tasks.
pub(super) async fn wire(parts: &Parts<'_>, clock: &Arc<dyn Clock>) -> Result<Realtime> {
    let events = || Arc::clone(&parts.storage.events);
    let (tasks, stop) = (&parts.tasks, &parts.stop);
    let bus = Arc::clone(&parts.peers.links.bus);
    let tails = LogTails::new(events(), tasks.clone(), Handle::current(), stop.clone());
    let tails = Arc::new(tails);
    let caches = Caches::new(Arc::clone(&bus));
    let invalidator = CacheInvalidator::new(
        events(),
        caches.clone(),
        Arc::clone(clock),
        Arc::clone(&bus),
        Arc::clone(&tails),
    );
    let heads = invalidator.watch_heads();
    invalidator.catch_up().await?;
    tasks.spawn(invalidator.run(stop.clone()));
    tasks.spawn(Arc::clone(&tails).run(Arc::clone(&bus)));
    let log = Arc::new(LogReader::new(tails, events()));
    let typing = Arc::new(Typing::new(bus, Arc::clone(clock)));
    tasks.spawn(Arc::clone(&typing).run(stop.clone()));
    Ok(Realtime {
        caches,
        log,
        heads,
        typing,
    })
}
