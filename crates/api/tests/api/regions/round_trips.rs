//! The round trips to the home region that an operation takes, as the documentation lists them.

use std::{collections::BTreeMap, time::Duration};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use serde_json::json;

use super::fixture::Regions;
use crate::{
    operations::{self, TestResources},
    sockets::client::SocketClient,
};

const DOCUMENT: &str = include_str!("../../../../../docs/regions.md");

const ROUND_TRIP: Duration = Duration::from_millis(40);

/// Reads the table of operations: the number of round trips by method and path.
fn documented() -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for line in DOCUMENT.lines() {
        let round_trips = match line.split('|').nth(1).map(str::trim) {
            Some("0") => 0,
            Some("1") => 1,
            _ => continue,
        };
        // Every second part is between backticks.
        for operation in line.split('`').skip(1).step_by(2) {
            let repeated = all.insert(operation.to_owned(), round_trips);
            assert_eq!(repeated, None, "{operation} is listed twice");
        }
    }
    all
}

fn record() -> PrometheusHandle {
    let recorder = PrometheusBuilder::new().build_recorder();
    let metrics = recorder.handle();
    metrics::set_global_recorder(recorder).expect("no other test measures the process");
    metrics
}

/// The number of requests to the home region.
fn requests(metrics: &PrometheusHandle) -> u64 {
    let text = metrics.render();
    let counts = text
        .lines()
        .filter(|line| line.starts_with("region_forwarded{"));
    let counts = counts.map(|line| line.rsplit(' ').next().and_then(|count| count.parse().ok()));
    counts
        .map(|count: Option<u64>| count.expect("a count"))
        .sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_operation_takes_the_documented_round_trips() {
    let mut documented = documented();
    let metrics = record();
    // A read waits for the replica for half a round trip.
    let (regions, _link) = Regions::start_distant(ROUND_TRIP).await;
    for operation in operations::all() {
        let resources = TestResources::make(&regions.home).await;
        let name = format!("{} {}", operation.method, operation.template);
        let expected = documented.remove(&name);
        let before = requests(&metrics);
        let request = operation.request(&regions.far.writer(), &resources);
        let response = request.send().await;
        assert_eq!(response.status, operation.success(), "{name}");
        assert_eq!(Some(requests(&metrics) - before), expected, "{name}");
    }
    assert_eq!(documented, BTreeMap::new(), "there are no such operations");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_takes_no_round_trip_and_a_chat_on_it_takes_one() {
    let metrics = record();
    let regions = Regions::start().await;
    let agent = regions.home.agent_id().await;
    let caller = regions.far.writer();
    let mut socket = SocketClient::connected(&regions.far, &caller, &["tenant"]).await;
    assert_eq!(requests(&metrics), 0);
    let chat = json!({"agentId": agent, "message": "Hello"});
    socket.expect_success("chat", chat).await;
    assert_eq!(requests(&metrics), 1);
}
