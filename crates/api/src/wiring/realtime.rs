//! What clients follow: the bus, the caches that tell it of every commit, and the log that is read
//! for all who listen.

use std::sync::Arc;

use anyhow::Result;
use application::{
    cache::{Caches, LogTail},
    realtime::{Feed, LogReader, Typing},
};
use local_bus::LocalBus;
use ports::{Clock, EventBus};
use tokio::runtime::Handle;

use super::Parts;

/// What clients follow.
pub(super) struct Realtime {
    /// What the log keeps true.
    pub(super) caches: Caches,
    /// The log.
    pub(super) log: Arc<LogReader>,
    /// Who types where.
    pub(super) typing: Arc<Typing>,
}

/// Puts it together and starts what runs in the background.
pub(super) async fn wire(parts: &Parts<'_>, clock: &Arc<dyn Clock>) -> Result<Realtime> {
    let events = || Arc::clone(&parts.storage.events);
    let (tasks, stop) = (&parts.tasks, &parts.stop);
    let bus: Arc<dyn EventBus> = Arc::new(LocalBus::new());
    let feed = Feed::new(events(), tasks.clone(), Handle::current(), stop.clone());
    let feed = Arc::new(feed);
    let caches = Caches::new(Arc::clone(&bus));
    let tail = LogTail::new(
        events(),
        caches.clone(),
        Arc::clone(clock),
        Arc::clone(&bus),
        Arc::clone(&feed),
    );
    tail.catch_up().await?;
    tasks.spawn(tail.run(stop.clone()));
    tasks.spawn(Arc::clone(&feed).run(Arc::clone(&bus)));
    let log = Arc::new(LogReader::new(feed, events()));
    let typing = Arc::new(Typing::new(bus, Arc::clone(clock)));
    tasks.spawn(Arc::clone(&typing).run(stop.clone()));
    Ok(Realtime {
        caches,
        log,
        typing,
    })
}
