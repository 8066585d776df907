//! Reads that the replica does not answer, such as those that it cancels to replay a change.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{ProblemCode, Scope};
use tokio::time::timeout;

use super::fixture::Regions;
use crate::{
    sockets::client::SocketClient,
    storage_probe::{InjectedFault, StorageProbe},
};

/// The reads of a far node that a replica without connections leaves open.
const READS: &[&str] = &[
    "agents.list",
    "credentials.access_version",
    "credentials.find",
    "events.bounds",
    "events.heads",
];

async fn probed() -> (Regions, Arc<StorageProbe>) {
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let regions =
        Regions::start_with(|far| far.wrap_storage(move |storage| wrapped.wrap_storage(storage)))
            .await;
    (regions, probe)
}

#[tokio::test(flavor = "multi_thread")]
async fn home_answers_what_the_replica_cannot() {
    let (regions, probe) = probed().await;
    let agent = regions.home.agent_id().await;
    for call in ["agents.find", "agents.list", "credentials.find"] {
        probe.inject(call, InjectedFault::Unavailable);
    }
    let far = regions.far.reader();
    for path in [&format!("/api/agents/{agent}"), "/api/agents"] {
        let read = far.get(path).await;
        assert_eq!(read.header("x-served-by"), "home");
        read.ok();
    }
    probe.clear_faults();
    let read = far.get("/api/agents").await;
    assert_eq!(read.header("x-served-by"), "replica");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_ready_while_home_or_the_replica_responds() {
    let (regions, probe) = probed().await;
    probe.inject("maintenance.ping", InjectedFault::Unavailable);
    let far = regions.far.anonymous();
    let began = Instant::now();
    loop {
        let checks = far.get("/readyz?verbose").await.ok();
        if checks["checks"]["store"] == "unavailable" {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{checks}");
    }
    regions.home.stop().await;
    let began = Instant::now();
    loop {
        let ready = far.get("/readyz").await;
        if ready.status != 200 {
            ready.problem(ProblemCode::StoreUnavailable);
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "still ready");
    }
    probe.clear_faults();
    let began = Instant::now();
    while far.get("/readyz").await.status != 200 {
        assert!(began.elapsed() < Duration::from_secs(10), "not ready");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_home_the_problem_of_the_replica_is_reported() {
    let (regions, probe) = probed().await;
    let far = regions.far.reader();
    far.get("/api/agents").await.ok();
    regions.home.stop().await;
    probe.inject("agents.list", InjectedFault::Unavailable);
    let unavailable = far.get("/api/agents").await;
    unavailable.problem(ProblemCode::StoreUnavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_closes_sockets_while_the_replica_does_not_respond() {
    let (regions, probe) = probed().await;
    let scopes = [Scope::EventsRead, Scope::KeysAdmin];
    let key = regions.home.caller_with_scopes(&scopes).await;
    let far = regions.far.caller(Some(key.key()));
    let mut socket = SocketClient::connected(&regions.far, &far, &["tenant"]).await;
    for call in READS {
        probe.inject(call, InjectedFault::Slow);
    }
    let id = &key.key()["agk_".len()..][..12];
    let path = format!("/api/keys/{id}");
    assert_eq!(regions.home.writer().delete(&path).await.status, 204);
    let end = timeout(Duration::from_secs(5), socket.wait_for_end()).await;
    assert_eq!(end.expect("a close").code, 4003);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_do_not_wait_for_a_replica_that_does_not_respond() {
    let (regions, probe) = probed().await;
    let far = regions.far.reader();
    for call in READS {
        probe.inject(call, InjectedFault::Slow);
    }
    probe.calls();
    let began = Instant::now();
    loop {
        let read = timeout(Duration::from_secs(1), far.get("/api/agents")).await;
        if let Ok(read) = read {
            assert_eq!(read.header("x-served-by"), "home");
            read.ok();
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "still waiting");
    }
    // A credential that the node does not remember.
    let key = regions.home.caller_with_scopes(&[Scope::AgentsRead]).await;
    let read = regions.far.caller(Some(key.key()));
    let read = timeout(Duration::from_secs(2), read.get("/api/agents")).await;
    read.expect("a response").ok();
    let probes = probe.count("credentials.access_version");
    assert!(probes <= 1, "{probes} reads wait at the replica");
    probe.clear_faults();
    let began = Instant::now();
    while far.get("/api/agents").await.header("x-served-by") != "replica" {
        assert!(began.elapsed() < Duration::from_secs(10), "still at home");
    }
}
