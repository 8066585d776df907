//! Measures the limiter on the migrated, empty database in `DATABASE_URL`:
//! `cargo run --release -p postgres_nodes --example measure`.

use std::{
    num::NonZeroU32,
    str::FromStr as _,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{NodeId, PrincipalId, Quota, QuotaHolder, RatePolicy, TenantId};
use ports::{LiveNodes, Membership, QuotaDecision, RateLimiter};
use postgres_nodes::PostgresRateLimiter;
use single_node::LocalRateLimiter;
use sqlx::postgres::PgConnectOptions;
use tokio::{sync::watch, task::JoinSet, time::sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

/// The number of takes of which the mean is printed.
const TAKES: u32 = 1_000_000;
/// The number of takes with a round trip.
const ROUND_TRIPS: u32 = 5_000;
const COMPETITION: Duration = Duration::from_secs(20);

fn holder(number: u32) -> QuotaHolder {
    QuotaHolder {
        tenant: TenantId::DEFAULT.parse().expect("the id of a tenant"),
        principal: PrincipalId::new(format!("key:Sample{number:06}")),
    }
}

fn start(live_nodes: u32) -> Arc<dyn RateLimiter> {
    #[expect(clippy::disallowed_methods, reason = "the only setting")]
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL is not set");
    let connect = PgConnectOptions::from_str(&url).expect("a URL of Postgres");
    let node = NodeId::new(Uuid::nil());
    // Nothing changes the membership.
    let membership = watch::channel(Membership {
        node,
        live: LiveNodes {
            count: live_nodes,
            lowest_level: 0,
        },
    });
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let limiter = PostgresRateLimiter::start(&connect, membership.1, &tasks, &stop);
    std::mem::forget(membership.0);
    Arc::new(limiter)
}

async fn take(limiter: &dyn RateLimiter, holder: &QuotaHolder, quota: Quota) -> QuotaDecision {
    let taken = limiter.take(holder, RatePolicy::Requests, quota, NonZeroU32::MIN);
    taken.await.expect("the limiter is available")
}

/// Prints the mean time of a take.
async fn print_cost(name: &str, limiter: &dyn RateLimiter, takes: u32, quota: Quota) {
    let holders: Vec<_> = (0..100).map(holder).collect();
    for holder in &holders {
        take(limiter, holder, quota).await;
    }
    let start = Instant::now();
    for number in 0..takes {
        let holder = &holders[number as usize % holders.len()];
        assert!(take(limiter, holder, quota).await.is_admitted);
    }
    report(name, start.elapsed() / takes);
}

#[expect(clippy::print_stdout, reason = "the result of the measurement")]
fn report(name: &str, value: impl std::fmt::Debug) {
    println!("{name}: {value:?}");
}

async fn hammer(limiter: Arc<dyn RateLimiter>, start: Instant) -> u32 {
    let (holder, mut granted) = (holder(1_000), 0);
    while start.elapsed() < COMPETITION {
        if take(&*limiter, &holder, Quota::new(6_000, 100))
            .await
            .is_admitted
        {
            granted += 1;
        } else {
            sleep(Duration::from_millis(1)).await;
        }
    }
    granted
}

#[tokio::main]
async fn main() {
    let endless = Quota::new(100_000_000, 1_000_000);
    print_cost(
        "take, in one process",
        &LocalRateLimiter::new(),
        TAKES,
        endless,
    )
    .await;
    print_cost("take, alone", &*start(1), TAKES, endless).await;
    let shared = start(2);
    print_cost("take, of held units", &*shared, TAKES, endless).await;
    // A slice of one unit.
    let slow = Quota::new(1, 1_000_000);
    print_cost("take, with a round trip", &*shared, ROUND_TRIPS, slow).await;
    let mut streams = Vec::new();
    let before = Instant::now();
    for number in 0..1_000 {
        let opened = shared.open_stream(&holder(number), 1).await;
        streams.push(
            opened
                .expect("the limiter is available")
                .expect("a free slot"),
        );
    }
    report("open_stream, with a round trip", before.elapsed() / 1_000);
    drop(streams);

    let (start_of_all, mut takers) = (Instant::now(), JoinSet::new());
    for limiter in [start(3), start(3), start(3)] {
        for _ in 0..4 {
            takers.spawn(hammer(Arc::clone(&limiter), start_of_all));
        }
    }
    let granted: u32 = takers.join_all().await.into_iter().sum();
    let allowed = 100.0 + 100.0 * start_of_all.elapsed().as_secs_f64();
    report("granted at 3 nodes", granted);
    report("allowed", allowed);
}
