//! Nodes that are killed one after the other.

use std::time::{Duration, Instant};

use contract::shared_rate_limiter::SharedLimiters as _;
use domain::Quota;

use crate::{
    faults::{take, wait_until_shared},
    nodes::Nodes,
};

/// Each held nine of a hundred units.
const KILLED: usize = 12;
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn the_units_of_killed_nodes_do_not_add_up() {
    let nodes = Nodes::start(KILLED + 1, 3).await;
    let last = nodes.node(KILLED);
    for number in 0..KILLED {
        wait_until_shared(&**nodes.node(number), &**last).await;
    }
    let quota = Quota::new(600, 100);
    let began = Instant::now();
    for number in 0..KILLED {
        // The units of killed nodes are missing until they are refilled.
        while !take(&**nodes.node(number), "ada", quota).await.is_admitted {
            assert!(began.elapsed() < PATIENCE, "nothing is refilled");
        }
        nodes.kill(number).await;
    }
    let (began, mut granted) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(3) {
        granted += u32::from(take(&**last, "ada", quota).await.is_admitted);
    }
    assert!(granted >= 20, "{granted} of 30");
}
