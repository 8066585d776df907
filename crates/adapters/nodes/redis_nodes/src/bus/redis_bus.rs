//! The implementation of the port.

use std::sync::{Arc, atomic::Ordering};

use futures::stream::{self, BoxStream, StreamExt as _};
use ports::{EventBus, Signal, SignalFilter};
use single_node::bus::{FallbackRequests, LocalBus};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use uuid::Uuid;

use super::signal_exchange::{ExchangeState, SignalExchange};
use crate::RedisServer;

/// An event bus between all processes on one server. Its tasks end when it is dropped.
///
/// Signals go through another bus, to which all processes listen at all times, while the server cannot
/// be reached. Meanwhile the processes that reach the server publish on both.
pub struct RedisBus {
    fallback: Arc<dyn EventBus>,
    fallback_requests: Arc<FallbackRequests>,
    local: Arc<LocalBus>,
    state: Arc<ExchangeState>,
    _tasks: DropGuard,
}

impl RedisBus {
    /// Starts the tasks of the bus, which connects in the background. All processes with the same
    /// `store` exchange signals; `process` is unique to this process. The tasks also end with `stop`.
    pub fn start(
        server: RedisServer,
        store: Uuid,
        process: Uuid,
        fallback: Arc<dyn EventBus>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Self {
        let local = Arc::new(LocalBus::new());
        let state = Arc::<ExchangeState>::default();
        let stop = stop.child_token();
        let exchange = SignalExchange::new(
            server,
            store,
            process,
            Arc::clone(&fallback),
            &Arc::downgrade(&local),
            Arc::clone(&state),
        );
        let fallback_requests = Arc::new(FallbackRequests::default());
        let receiving = Arc::clone(&fallback_requests).receive(&*fallback);
        tasks.spawn(stop.clone().run_until_cancelled_owned(receiving));
        tasks.spawn(stop.clone().run_until_cancelled_owned(exchange.run()));
        Self {
            fallback,
            fallback_requests,
            local,
            state,
            _tasks: stop.drop_guard(),
        }
    }

    /// Returns a function that returns true while signals are exchanged with other processes.
    pub fn connectivity(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let state = Arc::clone(&self.state);
        move || state.is_connected.load(Ordering::Relaxed)
    }
}

impl EventBus for RedisBus {
    fn publish(&self, signal: Signal) {
        let is_connected = self.state.is_connected.load(Ordering::Relaxed);
        if is_connected {
            self.state.outbox.push(&signal);
        }
        // Either of the two delivers to this process.
        if is_connected && !self.fallback_requests.is_needed() {
            self.local.publish(signal);
        } else {
            self.fallback.publish(signal);
        }
    }

    fn subscribe(&self, filter: SignalFilter) -> BoxStream<'static, Signal> {
        let (filter, state) = (Arc::new(filter), Arc::clone(&self.state));
        let of_fallback = Arc::clone(&filter);
        let own = self.local.subscribe(Box::new(move |signal| filter(signal)));
        let of_fallback = self.fallback.subscribe(Box::new(move |signal| {
            // A request for the fallback concerns this bus alone.
            *signal != Signal::FallbackRequested
                && of_fallback(signal)
                && state.resending.read().as_ref() != Some(signal)
        }));
        stream::select(own, of_fallback).boxed()
    }
}
