//! The nodes of far regions in `GET /api/nodes`.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::fixture::{Regions, home_builder};
use crate::caller::Caller;

/// The time in which a far node reports to the home region after its start.
const SOON: Duration = Duration::from_secs(10);

async fn nodes_of(caller: &Caller, region: &str) -> Vec<Value> {
    let listing = caller.get("/api/nodes").await.ok();
    let nodes = listing["data"].as_array().expect("a list").iter();
    nodes
        .filter(|node| node["region"] == region)
        .cloned()
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_far_regions_are_listed_by_every_node_of_the_home_region() {
    let regions = Regions::start().await;
    let other_home = home_builder(&regions.database).join(&regions.home).await;
    let (home, other) = (regions.home.writer(), other_home.writer());
    let began = Instant::now();
    let far = loop {
        let far = nodes_of(&home, "eu").await;
        if far.iter().any(|node| node.get("connectedAt").is_some()) {
            break far;
        }
        assert!(began.elapsed() < SOON, "not listed: {far:?}");
    };
    let [far] = &far[..] else {
        panic!("one far node: {far:?}")
    };
    assert_eq!(far["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (&far["responding"], &far["runningTurns"]),
        (&false.into(), &0.into())
    );
    let age = far["renewedMillisecondsAgo"].as_u64().expect("a number");
    assert!(age < 10_000, "{age}");
    let time = |name: &str| far[name].as_str().expect("a time").to_owned();
    assert!(time("startedAt") <= time("connectedAt"));
    assert!(time("connectedAt") < time("leaseExpiresAt"));
    // A far node asks the home region.
    for caller in [&other, &regions.far.writer()] {
        let listed = nodes_of(caller, "eu").await;
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0]["id"], far["id"]);
    }
    let own = nodes_of(&home, "us").await;
    assert_eq!(own.len(), 2);
    assert!(own.iter().all(|node| node.get("connectedAt").is_none()));
    other_home.stop().await;
}
