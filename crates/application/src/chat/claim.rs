//! That this process runs a turn.

use std::sync::Arc;

use domain::NodeId;

use super::live_turn::LiveTurn;

/// That this process runs a turn, for as long as this lives: also when what runs it panics, nobody
/// takes the turn for running that does not, and those who wait for it look into the store.
pub(super) struct Claim {
    pub(super) live: Arc<LiveTurn>,
    /// The node id under which it runs: its fencing token.
    pub(super) node: NodeId,
}

impl Claim {
    pub(super) fn of(live: Arc<LiveTurn>, node: NodeId) -> Self {
        live.runs(Some(node));
        Self { live, node }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.live.runs(None);
    }
}
