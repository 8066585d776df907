//! The implementation of the port.

use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt as _};
use parking_lot::RwLock;
use ports::{EventBus, Signal, SignalFilter};
use tokio::sync::broadcast::{self, error::RecvError};

/// The number of signals that are kept for a slow subscriber. A subscriber of `SignalsLost` is informed
/// of lost ones.
const CAPACITY: usize = 1_024;

/// An event bus within this process.
#[derive(Default)]
pub struct LocalBus(RwLock<Vec<Subscriber>>);

struct Subscriber {
    filter: SignalFilter,
    /// The queue of one receiver; it drops its oldest signals. Its slots are allocated at once, so
    /// they hold pointers.
    sender: broadcast::Sender<Arc<Signal>>,
}

impl LocalBus {
    /// Creates a bus without subscribers.
    pub fn new() -> Self {
        Self::default()
    }
}

impl EventBus for LocalBus {
    fn publish(&self, signal: Signal) {
        let signal = Arc::new(signal);
        for subscriber in self.0.read().iter() {
            if (subscriber.filter)(&signal) {
                // Fails if the subscriber has ended, which is not an error.
                let _ = subscriber.sender.send(Arc::clone(&signal));
            }
        }
    }

    fn subscribe(&self, filter: SignalFilter) -> BoxStream<'static, Signal> {
        let (sender, signals) = broadcast::channel(CAPACITY);
        let reports_loss = filter(&Signal::SignalsLost);
        let mut subscribers = self.0.write();
        subscribers.retain(|known| known.sender.receiver_count() > 0);
        subscribers.push(Subscriber { filter, sender });
        stream::unfold(signals, move |mut signals| async move {
            loop {
                match signals.recv().await {
                    Ok(signal) => return Some((Arc::unwrap_or_clone(signal), signals)),
                    Err(RecvError::Lagged(_)) if reports_loss => {
                        return Some((Signal::SignalsLost, signals));
                    }
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                }
            }
        })
        .boxed()
    }
}
