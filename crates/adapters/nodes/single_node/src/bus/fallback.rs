//! Requests of nodes that cannot be reached by the usual bus.

use std::{sync::Arc, time::Duration};

use futures::StreamExt as _;
use parking_lot::RwLock;
use ports::{EventBus, Signal};
use tokio::time::{Instant, MissedTickBehavior, interval};

/// The interval at which a node repeats its request.
const REQUEST_INTERVAL: Duration = Duration::from_secs(5);
/// The time after which a request expires.
const EXPIRES_AFTER: Duration = Duration::from_secs(15);

/// Requests at once, and then every five seconds, that other nodes publish on `fallback` too. Does not
/// end.
pub async fn request_fallback(fallback: Arc<dyn EventBus>) {
    let mut ticks = interval(REQUEST_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        fallback.publish(Signal::FallbackRequested);
    }
}

/// The requests of other nodes for signals on the fallback of a bus.
#[derive(Debug, Default)]
pub struct FallbackRequests {
    last: RwLock<Option<Instant>>,
}

impl FallbackRequests {
    /// Returns true while a node needs the fallback.
    pub fn is_needed(&self) -> bool {
        self.last
            .read()
            .is_some_and(|last| last.elapsed() < EXPIRES_AFTER)
    }

    /// Receives requests until `fallback` is closed. A request takes effect before `fallback` delivers
    /// the next signal, which may request replies.
    pub fn receive(
        self: Arc<Self>,
        fallback: &dyn EventBus,
    ) -> impl Future<Output = ()> + Send + use<> {
        let receive = move |signal: &Signal| {
            if *signal == Signal::FallbackRequested {
                *self.last.write() = Some(Instant::now());
            }
            false
        };
        let mut none = fallback.subscribe(Box::new(receive));
        async move { while none.next().await.is_some() {} }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::bus::LocalBus;

    #[tokio::test(start_paused = true)]
    async fn a_request_lasts_while_it_is_repeated_and_15_seconds_longer() {
        let fallback: Arc<dyn EventBus> = Arc::new(LocalBus::new());
        let requests = Arc::new(FallbackRequests::default());
        TaskTracker::new().spawn(Arc::clone(&requests).receive(&*fallback));
        assert!(!requests.is_needed());
        let requesting = TaskTracker::new().spawn(request_fallback(Arc::clone(&fallback)));
        for _ in 0..30 {
            sleep(Duration::from_secs(1)).await;
            assert!(requests.is_needed());
        }
        requesting.abort();
        sleep(Duration::from_secs(9)).await;
        assert!(requests.is_needed());
        sleep(Duration::from_secs(7)).await;
        assert!(!requests.is_needed());
    }
}
