//! Nodes on a Redis server of the test.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use domain::{Quota, QuotaHolder, RatePolicy, Seq};
use futures::{StreamExt as _, stream::BoxStream};
use ports::{EventBus, QuotaDecision, RateLimiter, Signal};
use redis_nodes::{RedisBus, RedisLimiter, RedisServer};
use single_node::LocalBus;
use single_node::LocalRateLimiter;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

/// The timeout of a wait, so that a test fails instead of hanging.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

#[expect(clippy::disallowed_methods, reason = "an id for a test")]
pub(crate) fn new_id() -> Uuid {
    Uuid::now_v7()
}

/// A limiter of one process.
pub(crate) fn local() -> Arc<dyn RateLimiter> {
    Arc::new(LocalRateLimiter::new())
}

/// A process that uses a server.
pub(crate) struct Node {
    server: RedisServer,
    store: Uuid,
    tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl Node {
    pub(crate) fn on(url: &str, store: Uuid) -> Self {
        // Fails if another test was first.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        Self {
            server: RedisServer::parse(url).expect("a URL"),
            store,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    pub(crate) fn bus(&self) -> RedisBus {
        self.bus_with(Arc::new(LocalBus::new()))
    }

    /// Starts a bus with a fallback, which connects all processes that have the same one.
    pub(crate) fn bus_with(&self, fallback: Arc<dyn EventBus>) -> RedisBus {
        RedisBus::start(
            self.server.clone(),
            self.store,
            new_id(),
            fallback,
            &self.tasks,
            &self.stop,
        )
    }

    pub(crate) async fn connected_bus(&self) -> RedisBus {
        let bus = self.bus();
        wait_until(bus.connectivity()).await;
        bus
    }

    pub(crate) fn limiter(&self, fallback: Option<Arc<dyn RateLimiter>>) -> RedisLimiter {
        RedisLimiter::start(
            self.server.clone(),
            self.store,
            new_id(),
            fallback,
            &self.tasks,
            &self.stop,
        )
    }

    pub(crate) async fn connected_limiter(&self) -> Arc<dyn RateLimiter> {
        let limiter = self.limiter(Some(local()));
        wait_until(limiter.connectivity()).await;
        Arc::new(limiter)
    }
}

pub(crate) async fn wait_until(condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < TIMEOUT, "the condition does not hold");
        sleep(POLL_INTERVAL).await;
    }
}

pub(crate) fn appended(head: i64) -> Signal {
    Signal::LogAppended {
        tenant: "default".parse().expect("the id of a tenant"),
        head: Seq(head),
    }
}

/// Publishes heads until one arrives at the other bus, and returns the time until then.
pub(crate) async fn exchange(from: &dyn EventBus, to: &dyn EventBus) -> Duration {
    let since = Instant::now();
    let is_head = |signal: &Signal| matches!(signal, Signal::LogAppended { .. });
    let mut received = to.subscribe(Box::new(is_head));
    for head in 1.. {
        from.publish(appended(head));
        if timeout(Duration::from_millis(50), received.next())
            .await
            .is_ok()
        {
            break;
        }
        assert!(since.elapsed() < TIMEOUT, "nothing arrives");
    }
    since.elapsed()
}

pub(crate) fn losses(bus: &dyn EventBus) -> BoxStream<'static, Signal> {
    bus.subscribe(Box::new(|signal| *signal == Signal::SignalsLost))
}

/// Waits for a report on lost signals.
pub(crate) async fn report(losses: &mut BoxStream<'static, Signal>) {
    let reported = timeout(TIMEOUT, losses.next()).await;
    assert_eq!(reported.expect("a report"), Some(Signal::SignalsLost));
}

/// Takes a unit of a quota that is not refilled, with a burst of two.
pub(crate) async fn take(limiter: &dyn RateLimiter, principal: &str) -> QuotaDecision {
    let holder = QuotaHolder {
        tenant: "default".parse().expect("the id of a tenant"),
        principal: domain::PrincipalId::new(principal),
    };
    let (policy, quota) = (RatePolicy::Requests, Quota::new(1, 2));
    let taken = limiter.take(&holder, policy, quota, NonZeroU32::MIN).await;
    taken.expect("a decision")
}
