//! A page with `CopilotKit`. Its libraries take more than a minute to fetch, so only
//! `cargo xtask test --heavy` runs this.

use super::assert_works;
use crate::protocols::preflights;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "heavy: needs libraries of 700 MB"]
async fn copilotkit_works() {
    assert_works(&preflights::COPILOTKIT, "copilotkit/page.mjs", &[], 6).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "heavy: needs libraries of 700 MB"]
async fn copilotkit_answers_calls() {
    for cases in ["approvals", "tools"] {
        assert_works(
            &preflights::COPILOTKIT,
            "copilotkit/acting.mjs",
            &[cases],
            4,
        )
        .await;
    }
}
