//! The contract tests of the port, on the server of `TEST_DATABASE_URL`.

use std::{collections::HashSet, str::FromStr as _, sync::Arc, time::Duration};

use contract::shared_event_bus::Buses;
use dev_tools::postgres::test_server_url;
use futures::StreamExt as _;
use ports::{EventBus, Signal};
use postgres_nodes::PostgresBus;
use sqlx::{ConnectOptions as _, postgres::PgConnectOptions};
use tokio::time::{Instant, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

/// Materialized: the planner may otherwise call the function for the listeners of all tests.
const TERMINATE_LISTENER: &str = "\
    with own as materialized (select pid from pg_stat_activity \
        where application_name = $1 and query like 'LISTEN %') \
    select pid from own where pg_terminate_backend(pid)";
const LONG_IDLE: &str = "\
    select count(*) from pg_stat_activity where application_name = $1 \
    and query like 'LISTEN %' and state_change < clock_timestamp() - interval '2 seconds'";
const TERMINATE: &str = "\
    select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = $1";

fn server() -> PgConnectOptions {
    PgConnectOptions::from_str(&test_server_url()).expect("a URL of Postgres")
}

#[expect(clippy::disallowed_methods, reason = "names a bus and nothing else")]
fn new_id() -> Uuid {
    Uuid::now_v7()
}

fn start(server: &PgConnectOptions, store: Uuid) -> Arc<dyn EventBus> {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let bus = PostgresBus::start(server, store, new_id(), &tasks, &stop);
    Arc::new(bus)
}

#[expect(clippy::unused_async, reason = "the contract awaits its fixture")]
async fn bus() -> Arc<dyn EventBus> {
    start(&server(), new_id())
}

#[expect(clippy::unused_async, reason = "the contract awaits its fixture")]
async fn buses() -> Buses {
    let store = new_id();
    (start(&server(), store), start(&server(), store))
}

contract::event_bus_contract!(crate::contract_tests::bus);
contract::shared_event_bus_contract!(crate::contract_tests::buses);

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_reported_and_replaced() {
    let store = new_id();
    let name = format!("bus {}", store.simple());
    let sender = start(&server(), store);
    let receiver = start(&server().application_name(&name), store);
    let mut lost = receiver.subscribe(Box::new(|signal| *signal == Signal::SignalsLost));
    lost.next().await.unwrap();
    let mut connection = server().connect().await.unwrap();
    let terminate = sqlx::query_scalar::<_, i64>(TERMINATE).bind(&name);
    let terminated = terminate.fetch_one(&mut connection).await.unwrap();
    assert!(terminated > 0);
    let reported = timeout(Duration::from_secs(5), lost.next()).await;
    assert_eq!(reported.unwrap(), Some(Signal::SignalsLost));
    let head = Signal::LogAppended {
        tenant: "default".parse().unwrap(),
        head: domain::Seq(1),
    };
    let mut signals = receiver.subscribe(Box::new(|signal| *signal != Signal::SignalsLost));
    sender.publish(head.clone());
    let next = timeout(Duration::from_secs(5), signals.next()).await;
    assert_eq!(next.unwrap(), Some(head));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_signal_is_lost_by_sessions_that_the_server_ends_while_they_are_idle() {
    let store = new_id();
    let names = [format!("bus s {store}"), format!("bus r {store}")];
    let sender = start(&server().application_name(&names[0]), store);
    let short = server().options([("idle_session_timeout", "1s")]);
    let receiver = start(&short.application_name(&names[1]), store);
    let mut signals = receiver.subscribe(Box::new(|_| true));
    assert_eq!(signals.next().await, Some(Signal::SignalsLost));
    let mut connection = server().connect().await.unwrap();
    // The listener is idle for longer than the server allows, and the session of the sender ends.
    loop {
        let idle = sqlx::query_scalar::<_, i64>(LONG_IDLE).bind(&names[1]);
        if idle.fetch_one(&mut connection).await.unwrap() == 1 {
            break;
        }
    }
    let terminate = sqlx::query_scalar::<_, i64>(TERMINATE).bind(&names[0]);
    assert!(terminate.fetch_one(&mut connection).await.unwrap() > 0);
    let signal = Signal::LogAppended {
        tenant: "default".parse().unwrap(),
        head: domain::Seq(1),
    };
    sender.publish(signal.clone());
    let next = timeout(Duration::from_secs(5), signals.next());
    assert_eq!(next.await.unwrap(), Some(signal));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_end_without_a_message_are_replaced_ever_more_slowly() {
    let name = format!("bus {}", new_id().simple());
    let bus = start(&server().application_name(&name), new_id());
    let mut lost = bus.subscribe(Box::new(|signal| *signal == Signal::SignalsLost));
    lost.next().await.unwrap();
    let mut connection = server().connect().await.unwrap();
    // By process: one that has not ended yet is terminated again.
    let (since, mut replaced) = (Instant::now(), HashSet::new());
    // Less than the time between two messages.
    while since.elapsed() < Duration::from_secs(3) {
        let terminate = sqlx::query_scalar::<_, i32>(TERMINATE_LISTENER).bind(&name);
        replaced.extend(terminate.fetch_all(&mut connection).await.unwrap());
    }
    assert!((2..10).contains(&replaced.len()), "{replaced:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn buses_of_different_stores_are_separate() {
    let (one, other) = (start(&server(), new_id()), start(&server(), new_id()));
    let mut lost = other.subscribe(Box::new(|signal| *signal == Signal::SignalsLost));
    lost.next().await.unwrap();
    let mut signals = other.subscribe(Box::new(|signal| *signal != Signal::SignalsLost));
    one.publish(Signal::LogAppended {
        tenant: "default".parse().unwrap(),
        head: domain::Seq(1),
    });
    assert!(
        timeout(Duration::from_secs(1), signals.next())
            .await
            .is_err()
    );
}
