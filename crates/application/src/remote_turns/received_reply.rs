//! A reply that another node writes.

use std::sync::Arc;

use tokio::time::Instant;

use super::GAP_REQUEST_INTERVAL;
use crate::live_turns::LiveTurn;

/// A reply of another node, held for its readers until the turn ends.
pub(super) struct ReceivedReply {
    pub(super) turn: Arc<LiveTurn>,
    pub(super) last_part: Instant,
    last_gap: Option<Instant>,
}

impl ReceivedReply {
    pub(super) fn new(turn: Arc<LiveTurn>) -> Self {
        Self {
            turn,
            last_part: Instant::now(),
            last_gap: None,
        }
    }

    /// Returns true if lost parts may be requested now, and remembers that they are.
    pub(super) fn may_request_gap(&mut self) -> bool {
        let may = self
            .last_gap
            .is_none_or(|last| last.elapsed() > GAP_REQUEST_INTERVAL);
        if may {
            self.last_gap = Some(Instant::now());
        }
        may
    }
}
