//! A node that was alone and is no longer.

use std::time::{Duration, Instant};

use contract::shared_rate_limiter::SharedLimiters as _;
use domain::Quota;
use sqlx::PgConnection;

use crate::{
    faults::{holder, take, wait_until_shared},
    nodes::Nodes,
};

const TIMEOUT: Duration = Duration::from_secs(20);
const CONNECTIONS: &str = "\
    select count(*) from pg_stat_activity where datname = current_database() \
    and pid <> pg_backend_pid() and query not like '%insert into nodes%'";
const ROWS: &str =
    "select (select count(*) from quota_counters) + (select count(*) from stream_counters)";

async fn count(connection: &mut PgConnection, statement: &'static str) -> i64 {
    let count = sqlx::query_scalar(statement).fetch_one(connection).await;
    count.expect("the server responds")
}

async fn wait_for(connection: &mut PgConnection, statement: &'static str, expected: i64) {
    let start = Instant::now();
    while count(connection, statement).await != expected {
        assert!(start.elapsed() < TIMEOUT, "{statement} is not {expected}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_alone_does_not_use_the_database() {
    let nodes = Nodes::start(1, 1).await;
    for _ in 0..10 {
        take(&**nodes.node(0), "ada", Quota::new(600, 100)).await;
    }
    let stream = nodes.node(0).open_stream(&holder("ada"), 5).await;
    let mut connection = nodes.database.connect().await;
    assert_eq!(count(&mut connection, CONNECTIONS).await, 0);
    assert_eq!(count(&mut connection, ROWS).await, 0);
    drop(stream);
}

#[tokio::test(flavor = "multi_thread")]
async fn units_and_streams_are_charged_when_another_node_joins() {
    let nodes = Nodes::start(2, 1).await;
    let quota = Quota::new(1, 5);
    for _ in 0..5 {
        assert!(take(&**nodes.node(0), "ada", quota).await.is_admitted);
    }
    let ada = holder("ada");
    let open = || nodes.node(0).open_stream(&ada, 2);
    let streams = [open().await.unwrap(), open().await.unwrap()];
    assert!(streams.iter().all(Option::is_some));
    nodes.set_live_nodes(0, 2);
    let mut connection = nodes.database.connect().await;
    wait_for(&mut connection, ROWS, 2).await;
    nodes.set_live_nodes(1, 2);
    wait_until_shared(&**nodes.node(0), &**nodes.node(1)).await;
    assert!(!take(&**nodes.node(1), "ada", quota).await.is_admitted);
    let third = nodes.node(1).open_stream(&ada, 2).await.unwrap();
    assert!(third.is_none());
    drop(streams);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_node_disconnects() {
    let nodes = Nodes::start(1, 2).await;
    let mut connection = nodes.database.connect().await;
    take(&**nodes.node(0), "ada", Quota::new(600, 100)).await;
    wait_for(&mut connection, CONNECTIONS, 1).await;
    nodes.set_live_nodes(0, 1);
    wait_for(&mut connection, CONNECTIONS, 0).await;
    let taken = take(&**nodes.node(0), "ada", Quota::new(600, 100)).await;
    assert!(taken.is_admitted && taken.remaining >= 98);
}
