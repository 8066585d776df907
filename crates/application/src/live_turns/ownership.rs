//! The ownership of a turn by the process that runs it.

use std::sync::Arc;

use domain::NodeId;

use super::LiveTurn;

/// Marks a turn as run by this process until it is dropped, even by a panic: from then on, waiters
/// poll the store.
pub(crate) struct TurnOwnership {
    pub(crate) live: Arc<LiveTurn>,
    /// The node id under which the turn runs: its fencing token.
    pub(crate) node: NodeId,
}

impl TurnOwnership {
    pub(crate) fn new(live: Arc<LiveTurn>, node: NodeId) -> Self {
        live.set_local_node(Some(node));
        live.report_start();
        Self { live, node }
    }
}

impl Drop for TurnOwnership {
    fn drop(&mut self) {
        self.live.set_local_node(None);
    }
}
