//! The deadline for the heads of requests.

use std::{task::Context, time::Duration};

use super::{
    connection_state::{ConnectionState, Phase},
    deadline::Deadline,
};

/// The time for which the head of a request may take, from its first byte, or from the start of the
/// connection for the first request.
pub(super) const HEADER_DEADLINE: Duration = Duration::from_secs(5);
/// The delay before a late client is checked again: this process may have been the one that was
/// late.
const RECHECK_DELAY: Duration = Duration::from_millis(100);
/// The maximum number of such checks for a client that has sent something at the last moment:
/// enough for this process to read it, too few for a client to exploit.
const MAX_RECHECKS: u32 = 10;

/// The deadline for the heads of one connection's requests.
#[derive(Default)]
pub(super) struct HeaderTimeout {
    deadline: Deadline,
    /// The number of requests at the last read.
    request_count: u64,
    /// True if something has arrived since the last check.
    has_received: bool,
    /// The number of checks since the deadline has passed.
    rechecks: u32,
}

impl HeaderTimeout {
    /// Records that `bytes` were read.
    pub(super) fn record_read(&mut self, state: &ConnectionState, bytes: usize) {
        let request_count = state.request_count();
        if request_count != self.request_count {
            self.request_count = request_count;
            self.deadline.clear();
            self.rechecks = 0;
        }
        self.has_received |= bytes > 0;
        let is_due = match state.phase() {
            Phase::FirstRequest => true,
            Phase::Idle => bytes > 0,
            Phase::ReceivingBody
            | Phase::Serving
            | Phase::Upgraded
            | Phase::Closing
            | Phase::Closed => false,
        };
        if is_due {
            self.deadline.set(HEADER_DEADLINE);
        }
    }

    /// Returns true if the client is late. While this process is busy, the client's bytes wait in
    /// the connection, so a late client is checked again before it is disconnected.
    pub(super) fn is_late(&mut self, state: &ConnectionState, context: &mut Context<'_>) -> bool {
        let has_received = std::mem::take(&mut self.has_received);
        if !matches!(state.phase(), Phase::FirstRequest | Phase::Idle)
            || !self.deadline.has_passed(context)
        {
            return false;
        }
        let max = if has_received { MAX_RECHECKS } else { 1 };
        if self.rechecks >= max {
            return true;
        }
        self.rechecks += 1;
        self.deadline.reset(RECHECK_DELAY);
        // This registers the task for the new deadline.
        self.deadline.has_passed(context)
    }
}
