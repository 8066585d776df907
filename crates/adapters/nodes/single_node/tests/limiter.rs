//! The contract tests of the port.

use std::sync::Arc;

use ports::RateLimiter;
use single_node::LocalRateLimiter;

#[expect(clippy::unused_async, reason = "the contract awaits its fixture")]
async fn fixture() -> Arc<dyn RateLimiter> {
    Arc::new(LocalRateLimiter::new())
}

contract::rate_limiter_contract!(crate::fixture);
