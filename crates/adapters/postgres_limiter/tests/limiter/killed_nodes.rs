//! Nodes that are killed one after the other.

use contract::shared_rate_limiter::SharedLimiters as _;
use domain::Quota;

use crate::{
    faults::{take, wait_until_shared},
    nodes::Nodes,
};

/// Each held nine of a hundred units.
const KILLED: usize = 12;

#[tokio::test(flavor = "multi_thread")]
async fn the_units_of_killed_nodes_do_not_add_up() {
    let nodes = Nodes::start(KILLED + 1, 3).await;
    let last = nodes.node(KILLED);
    for number in 0..KILLED {
        wait_until_shared(&**nodes.node(number), &**last).await;
    }
    let quota = Quota::new(600, 100);
    for number in 0..KILLED {
        assert!(take(&**nodes.node(number), "ada", quota).await.is_admitted);
        nodes.kill(number).await;
    }
    let mut granted = 0;
    while take(&**last, "ada", quota).await.is_admitted {
        granted += 1;
    }
    assert!(granted >= 40, "{granted}");
}
