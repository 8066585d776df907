//! Lost connections, and a database that does not respond.

use std::time::{Duration, Instant};

use contract::shared_rate_limiter::SharedLimiters as _;
use domain::{PrincipalId, Quota, QuotaHolder, RatePolicy, TenantId};
use ports::{QuotaDecision, RateLimiter};
use std::num::NonZeroU32;

use crate::{database::new_id, nodes::nodes, proxy::Link};

const TIMEOUT: Duration = Duration::from_secs(20);
const TERMINATE: &str = "\
    select count(pg_terminate_backend(pid)) from pg_stat_activity \
    where datname = current_database() and pid <> pg_backend_pid() \
        and query like '%quota_counters%'";

pub(crate) fn holder(name: &str) -> QuotaHolder {
    QuotaHolder {
        tenant: TenantId::DEFAULT.parse().expect("the id of a tenant"),
        principal: PrincipalId::new(name),
    }
}

pub(crate) async fn take(limiter: &dyn RateLimiter, name: &str, quota: Quota) -> QuotaDecision {
    let (holder, units) = (holder(name), NonZeroU32::MIN);
    let taken = limiter.take(&holder, RatePolicy::Requests, quota, units);
    taken.await.expect("the limiter is available")
}

/// Waits until a unit taken at one node is missing at the other.
pub(crate) async fn wait_until_shared(one: &dyn RateLimiter, other: &dyn RateLimiter) {
    let (start, quota) = (Instant::now(), Quota::new(1, 1));
    loop {
        let name = new_id().to_string();
        assert!(take(one, &name, quota).await.is_admitted);
        if !take(other, &name, quota).await.is_admitted {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "each node counts on its own");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_connection_is_replaced() {
    let nodes = nodes().await;
    let (one, other) = (nodes.node(0), nodes.node(1));
    wait_until_shared(&**one, &**other).await;
    let mut connection = nodes.database.connect().await;
    let terminate = sqlx::query_scalar::<_, i64>(TERMINATE);
    let terminated = terminate.fetch_one(&mut connection).await.unwrap();
    assert!(terminated >= 2, "{terminated}");
    wait_until_shared(&**one, &**other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_after_a_cut_while_idle_wait_for_another_connection() {
    let nodes = nodes().await;
    let (one, other) = (nodes.node(0), nodes.node(1));
    wait_until_shared(&**one, &**other).await;
    let quota = Quota::new(1, 5);
    for round in 0..5 {
        let mut connection = nodes.database.connect().await;
        let terminate = sqlx::query_scalar::<_, i64>(TERMINATE);
        assert!(terminate.fetch_one(&mut connection).await.unwrap() >= 2);
        let name = format!("user {round}");
        let mut admitted = 0;
        for _ in 0..10 {
            for limiter in [one, other] {
                admitted += usize::from(take(&**limiter, &name, quota).await.is_admitted);
            }
        }
        assert_eq!(admitted, 5, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_does_not_respond_delays_few_requests() {
    let nodes = nodes().await;
    let (one, other) = (nodes.node(0), nodes.node(1));
    wait_until_shared(&**one, &**other).await;
    nodes.proxy.set(Link::Silent);
    let start = Instant::now();
    assert!(take(&**one, "ada", Quota::new(1, 2)).await.is_admitted);
    assert!(start.elapsed() < Duration::from_secs(2));
    // It is known by now.
    let start = Instant::now();
    for number in 0..1_000 {
        let name = format!("user {number}");
        assert!(take(&**one, &name, Quota::new(1, 1)).await.is_admitted);
    }
    assert!(start.elapsed() < Duration::from_millis(400));
    nodes.proxy.set(Link::Up);
    wait_until_shared(&**one, &**other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn units_granted_without_the_counters_are_charged_later() {
    let nodes = nodes().await;
    let (one, other) = (nodes.node(0), nodes.node(1));
    let quota = Quota::new(1, 5);
    nodes.proxy.set(Link::Cut);
    wait_until_unknown(&**one).await;
    for _ in 0..5 {
        assert!(take(&**one, "ada", quota).await.is_admitted);
    }
    nodes.proxy.set(Link::Up);
    wait_until_shared(&**one, &**other).await;
    assert!(!take(&**other, "ada", quota).await.is_admitted);
}

/// Takes a unit, so that the node knows that it has no connection.
async fn wait_until_unknown(limiter: &dyn RateLimiter) {
    let taken = take(limiter, "nobody", Quota::new(1, 1)).await;
    assert!(taken.is_admitted);
}
