//! Clients of a far region that do not read their responses.

use std::time::Duration;

use tokio::time::timeout;

use super::fixture::{Regions, large_agent};

/// Enough to fill a window of 16 MiB.
const UNREAD: usize = 60;
const TIMEOUT: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn responses_that_are_not_read_do_not_block_others() {
    let regions = Regions::start().await;
    for _ in 0..4 {
        regions.home.agent(large_agent()).await;
    }
    // A position that the replica never reaches.
    let page = || {
        let page = regions.far.writer().request("GET", "/api/agents");
        page.header("X-Consistency", "999999999")
    };
    let mut unread = Vec::new();
    for _ in 0..UNREAD {
        let response = timeout(TIMEOUT, page().open()).await.expect("a response");
        assert_eq!(response.status(), 200);
        unread.push(response);
    }
    let read = timeout(TIMEOUT, page().send()).await;
    let read = read.expect("others do not block it");
    assert_eq!(read.header("x-served-by"), "home");
    assert_eq!(read.ok()["data"].as_array().map(Vec::len), Some(4));
}
