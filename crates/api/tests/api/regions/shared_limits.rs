//! Several far nodes of one region.

use std::time::{Duration, Instant};

use dev_tools::redis_server::RedisProcess;
use domain::{ProblemCode, Scope};

use super::fixture::{Regions, far_builder, wait_until_ready};
use crate::api_server::ApiServer;

const BURST: usize = 10;
const TIMEOUT: Duration = Duration::from_secs(20);

/// Waits until a service counts with others.
async fn wait_for_redis(api: &ApiServer) {
    let began = Instant::now();
    loop {
        let ready = api.anonymous().get("/readyz?verbose").await.ok();
        if ready["checks"]["redis_limits"] == "ok" {
            return;
        }
        assert!(began.elapsed() < TIMEOUT, "{ready}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn far_nodes_with_a_server_between_them_count_together() {
    let server = RedisProcess::start(&[]).expect("a server");
    let redis = server.url();
    let limits = |far: crate::api_server::ApiServerBuilder| {
        far.setting("BUS__URL", &redis)
            .setting("LIMITS__REQUESTS__PER_MINUTE", "1")
            .setting("LIMITS__REQUESTS__BURST", &BURST.to_string())
    };
    let regions = Regions::start_with(limits).await;
    let url = format!("http://{}", regions.home.address);
    let other = limits(far_builder(&regions.database, &url));
    let other = other.join(&regions.home).await;
    wait_until_ready(&other).await;
    let key = regions.home.caller_with_scopes(&[Scope::AgentsRead]).await;
    let nodes = [&regions.far, &other];
    for node in nodes {
        wait_for_redis(node).await;
    }
    let callers = nodes.map(|node| node.caller(Some(key.key())));
    for number in 0..BURST {
        callers[number % 2].get("/api/agents").await.ok();
    }
    for caller in &callers {
        let rejected = caller.get("/api/agents").await;
        rejected.problem(ProblemCode::RateLimited);
    }
    // The home region has a limit of its own.
    key.get("/api/agents").await.ok();
}
