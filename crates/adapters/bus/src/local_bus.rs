//! The implementation of the port.

use futures::stream::{self, BoxStream, StreamExt as _};
use ports::{EventBus, Signal};
use tokio::sync::broadcast::{self, error::RecvError};

/// The number of signals that are kept for the slowest subscriber. Lost signals do no harm, since
/// subscribers read the event log. Each takes about a hundred bytes.
const CAPACITY: usize = 4_096;

/// An event bus within this process.
pub struct LocalBus(broadcast::Sender<Signal>);

impl LocalBus {
    /// Creates a bus without subscribers.
    pub fn new() -> Self {
        Self(broadcast::Sender::new(CAPACITY))
    }
}

impl Default for LocalBus {
    fn default() -> Self {
        Self::new()
    }
}

impl EventBus for LocalBus {
    fn publish(&self, signal: Signal) {
        // Fails if there is no subscriber, which is not an error.
        let _ = self.0.send(signal);
    }

    fn subscribe(&self) -> BoxStream<'static, Signal> {
        let signals = self.0.subscribe();
        stream::unfold(signals, async |mut signals| {
            loop {
                match signals.recv().await {
                    Ok(signal) => return Some((signal, signals)),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                }
            }
        })
        .boxed()
    }
}
