//! The port.

use futures::stream::{self, BoxStream, StreamExt as _};
use ports::{EventBus, Signal};
use tokio::sync::broadcast::{self, error::RecvError};

/// Signals that are kept for the slowest subscriber. Those who follow the log need none of them,
/// and a hundred bytes each is all that they cost.
const KEPT: usize = 4_096;

/// Tells everybody in this process.
pub struct LocalBus(broadcast::Sender<Signal>);

impl LocalBus {
    /// Nobody listens yet.
    pub fn new() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }
}

impl Default for LocalBus {
    fn default() -> Self {
        Self::new()
    }
}

impl EventBus for LocalBus {
    fn publish(&self, signal: Signal) {
        // It fails when nobody listens: then nobody misses it.
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
