//! The implementation of the port.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures::stream::{self, BoxStream, StreamExt as _};
use local_bus::{LocalBus, Outbox};
use ports::{EventBus, Signal, SignalFilter};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use uuid::Uuid;

use super::link::Link;
use crate::RedisServer;

/// An event bus between all processes on one server. Its task ends when it is dropped.
///
/// While the server cannot be reached, signals go through another bus, to which all processes listen
/// at all times.
pub struct RedisBus {
    fallback: Arc<dyn EventBus>,
    local: Arc<LocalBus>,
    outbox: Arc<Outbox>,
    is_connected: Arc<AtomicBool>,
    _task: DropGuard,
}

impl RedisBus {
    /// Starts the task of the bus, which connects in the background. All processes with the same
    /// `store` exchange signals; `process` is unique to this process. The task also ends with `stop`.
    pub fn start(
        server: RedisServer,
        store: Uuid,
        process: Uuid,
        fallback: Arc<dyn EventBus>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Self {
        let (local, outbox) = (Arc::new(LocalBus::new()), Arc::new(Outbox::default()));
        let is_connected = Arc::new(AtomicBool::new(false));
        let stop = stop.child_token();
        let link = Link::new(
            server,
            store,
            process,
            Arc::clone(&outbox),
            &Arc::downgrade(&local),
            Arc::clone(&is_connected),
        );
        tasks.spawn(stop.clone().run_until_cancelled_owned(link.run()));
        Self {
            fallback,
            local,
            outbox,
            is_connected,
            _task: stop.drop_guard(),
        }
    }

    /// Returns a function that returns true while signals are exchanged with other processes.
    pub fn connectivity(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let is_connected = Arc::clone(&self.is_connected);
        move || is_connected.load(Ordering::Relaxed)
    }
}

impl EventBus for RedisBus {
    fn publish(&self, signal: Signal) {
        if self.is_connected.load(Ordering::Relaxed) {
            self.outbox.push(&signal);
            self.local.publish(signal);
        } else {
            self.fallback.publish(signal);
        }
    }

    fn subscribe(&self, filter: SignalFilter) -> BoxStream<'static, Signal> {
        let (filter, shared) = (Arc::new(filter), |filter: &Arc<SignalFilter>| {
            let filter = Arc::clone(filter);
            Box::new(move |signal: &Signal| filter(signal))
        });
        let own = self.local.subscribe(shared(&filter));
        stream::select(own, self.fallback.subscribe(shared(&filter))).boxed()
    }
}
