//! Reads that the replica does not answer, such as those that it cancels to replay a change.

use std::sync::Arc;

use domain::ProblemCode;

use super::fixture::Regions;
use crate::storage_probe::{InjectedFault, StorageProbe};

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
async fn without_home_the_problem_of_the_replica_is_reported() {
    let (regions, probe) = probed().await;
    let far = regions.far.reader();
    far.get("/api/agents").await.ok();
    regions.home.stop().await;
    probe.inject("agents.list", InjectedFault::Unavailable);
    let unavailable = far.get("/api/agents").await;
    unavailable.problem(ProblemCode::StoreUnavailable);
}
