//! The implementation of the port.

use std::sync::Arc;

use futures::stream::BoxStream;
use ports::{EventBus, Signal, SignalFilter};
use single_node::bus::{LocalBus, Outbox};
use sqlx::postgres::PgConnectOptions;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use uuid::Uuid;

use crate::bus::{listener::Listener, outage::Outage, sender::Sender};

/// An event bus between all processes on one database. Its tasks end when it is dropped.
pub struct PostgresBus {
    local: Arc<LocalBus>,
    outbox: Arc<Outbox>,
    _tasks: DropGuard,
}

impl PostgresBus {
    /// Starts the tasks of the bus. All processes with the same `store` exchange signals; it is part
    /// of the channel's name, so it should be hard to guess for other users of the database.
    /// `process` is unique to this process. The tasks also end with `stop`.
    pub fn start(
        connect: &PgConnectOptions,
        store: Uuid,
        process: Uuid,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Self {
        let (local, outbox) = (Arc::new(LocalBus::new()), Arc::new(Outbox::default()));
        let stop = stop.child_token();
        let channel = format!("agent_service_{}", store.simple());
        let outage = Arc::<Outage>::default();
        let sender = Sender::new(
            connect.clone(),
            channel.clone(),
            process,
            Arc::clone(&outbox),
            Arc::clone(&outage),
        );
        let local_bus = Arc::downgrade(&local);
        let listener = Listener::new(connect.clone(), channel, process, local_bus, outage);
        tasks.spawn(stop.clone().run_until_cancelled_owned(sender.run()));
        tasks.spawn(stop.clone().run_until_cancelled_owned(listener.run()));
        Self {
            local,
            outbox,
            _tasks: stop.drop_guard(),
        }
    }
}

impl EventBus for PostgresBus {
    fn publish(&self, signal: Signal) {
        self.outbox.push(&signal);
        self.local.publish(signal);
    }

    fn subscribe(&self, filter: SignalFilter) -> BoxStream<'static, Signal> {
        self.local.subscribe(filter)
    }
}
