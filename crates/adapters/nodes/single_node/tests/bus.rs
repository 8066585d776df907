//! The contract tests of the port.

use std::sync::Arc;

use ports::EventBus;
use single_node::LocalBus;

#[expect(clippy::unused_async, reason = "the contract awaits its fixture")]
async fn fixture() -> Arc<dyn EventBus> {
    Arc::new(LocalBus::new())
}

contract::event_bus_contract!(crate::fixture);
