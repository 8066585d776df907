//! The units of one quota of one principal that a node has granted and can grant.

use std::time::Duration;

use ports::QuotaDecision;

use crate::limiter::rate::{Nanos, Rate, SECOND};

/// The time after which units that were taken ahead of need are returned.
pub(crate) const UNUSED: Nanos = SECOND;
/// The time after which held units are lost. The row reserves them for two seconds, and a statement
/// takes at most half a second.
pub(crate) const LOST: Nanos = SECOND * 3 / 2;

/// A request of a node to a row. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowRequest {
    /// The time that the row is charged, for units granted without it.
    pub(crate) charged: Nanos,
    /// The time of held units that are returned.
    pub(crate) returned: Nanos,
    /// The time of held units that were granted since the last request. Negative if this node holds
    /// more units than the row knows.
    pub(crate) used: Nanos,
    /// The time until the units are refilled that this node has granted of those it held.
    pub(crate) refilled_in: Nanos,
    /// The number of units without which the node needs none.
    pub(crate) least: u32,
    /// The number of units that it takes if they are available.
    pub(crate) most: u32,
    /// The number of these that are granted as soon as they arrive, and never held.
    pub(crate) at_once: u32,
}

/// The units that a node needs from a row.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NeededUnits {
    pub(crate) least: u32,
    pub(crate) most: u32,
    pub(crate) at_once: u32,
}

/// The response of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowResponse {
    pub(crate) granted: u32,
    /// The time until the whole burst is available.
    pub(crate) full_in: Nanos,
}

/// The units of one quota of one principal that a node has granted and can grant.
///
/// `full_at` is the one number of the generic cell rate algorithm: the time at which the whole burst
/// is available. It is that of the row, as last read, plus what was granted here without the row.
///
/// Held units are missing in the row and must not be refilled there, or they could be granted twice.
/// So the row also has the number of units that all nodes hold, which are missing for as long. No node
/// holds more than a slice, which bounds the number: a killed node returns nothing.
#[derive(Debug)]
pub(crate) struct Units {
    pub(crate) rate: Rate,
    full_at: Nanos,
    /// Units that were taken from the row and not used yet.
    held: u32,
    /// The time of held units that were granted, but that the row still counts as held. Negative if
    /// the row counts too few.
    used: Nanos,
    /// The time at which the units are refilled that this node has granted of those it held.
    used_until: Nanos,
    /// The part of `full_at` that the row does not know.
    unpaid: Nanos,
    /// The time of the last request in response to which the row granted units.
    granted_at: Nanos,
}

impl Units {
    pub(crate) const fn new(rate: Rate, now: Nanos) -> Self {
        Self {
            rate,
            full_at: now,
            held: 0,
            used: 0,
            used_until: now,
            unpaid: 0,
            granted_at: now - LOST,
        }
    }

    /// The number of units that were taken from the row and not used yet.
    pub(crate) const fn held(&self) -> u32 {
        self.held
    }

    /// Updates the state to the current time. Units granted without the row are refilled, and need
    /// not be charged any more. Held units remain missing, unless the row no longer reserves them.
    pub(crate) fn settle(&mut self, now: Nanos) {
        if now - self.granted_at >= LOST {
            self.held = 0;
            self.used = 0;
        }
        self.unpaid = self.unpaid.min((self.full_at - now).max(0));
        self.full_at = self.full_at.max(now + self.rate.time(self.held));
    }

    /// Takes held units, if there are enough.
    pub(crate) fn take_held(&mut self, units: u32, now: Nanos) -> Option<QuotaDecision> {
        self.held = self.held.checked_sub(units)?;
        let time = self.rate.time(units);
        self.used += time;
        self.used_until = self.used_until.max(now) + time;
        Some(self.granted(now))
    }

    /// Takes units, held ones first, without the row, which is charged later.
    pub(crate) fn take_unpaid(&mut self, units: u32, now: Nanos) -> QuotaDecision {
        if self.lacks(units, now) {
            return self.rejected(units, now);
        }
        let of_held = units.min(self.held);
        self.take_held(of_held, now);
        let time = self.rate.time(units - of_held);
        self.full_at = self.full_at.max(now) + time;
        self.unpaid += time;
        self.granted(now)
    }

    /// Returns a request to the row that takes these units, and assumes that a response comes. If this
    /// node needs no units, it returns those that it holds.
    pub(crate) fn next_request(
        &mut self,
        needed: NeededUnits,
        returns_held: bool,
        now: Nanos,
    ) -> RowRequest {
        let returned = if returns_held {
            std::mem::take(&mut self.held)
        } else {
            0
        };
        RowRequest {
            charged: self.unpaid,
            returned: self.rate.time(returned),
            used: std::mem::take(&mut self.used),
            refilled_in: (self.used_until - now).max(0),
            least: needed.least,
            most: needed.most,
            at_once: needed.at_once,
        }
    }

    /// Applies the response of the row to a request that was sent at `sent_at`.
    pub(crate) fn apply(
        &mut self,
        request: RowRequest,
        sent_at: Nanos,
        response: RowResponse,
        now: Nanos,
    ) {
        self.unpaid = (self.unpaid - request.charged).max(0);
        self.full_at = now + response.full_in + self.unpaid;
        self.held += response.granted;
        self.used -= self.rate.time(response.granted.min(request.at_once));
        if response.granted > 0 {
            self.granted_at = sent_at;
        }
    }

    /// Returns true if the units are neither held nor refilled yet.
    pub(crate) fn lacks(&self, units: u32, now: Nanos) -> bool {
        self.available(now) < self.rate.time(units)
    }

    /// Less than half a slice is left, which is refilled before a request has to wait.
    pub(crate) const fn is_low(&self) -> bool {
        self.rate.slice > 1 && self.held < self.rate.slice.div_ceil(2)
    }

    /// The row has granted no units for so long that held ones are to be returned.
    pub(crate) const fn is_unused(&self, now: Nanos) -> bool {
        now - self.granted_at >= UNUSED
    }

    /// Returns true if the row counts fewer units as held than this node holds.
    pub(crate) const fn hold_more_than_known(&self) -> bool {
        self.used < 0
    }

    pub(crate) const fn is_unpaid(&self) -> bool {
        self.unpaid > 0
    }

    /// Returns true if new units would be the same.
    pub(crate) const fn is_full(&self, now: Nanos) -> bool {
        self.full_at <= now && self.held == 0 && self.used == 0
    }

    /// The decision that rejects a request for units.
    pub(crate) fn rejected(&self, units: u32, now: Nanos) -> QuotaDecision {
        QuotaDecision {
            is_admitted: false,
            remaining: 0,
            more_in: duration(self.rate.time(units) - self.available(now)),
        }
    }

    fn granted(&self, now: Nanos) -> QuotaDecision {
        let available = self.available(now).max(0);
        let remaining = (available / self.rate.interval).min(Nanos::from(self.rate.burst));
        QuotaDecision {
            is_admitted: true,
            remaining: u32::try_from(remaining).unwrap_or(u32::MAX),
            more_in: duration(self.rate.interval - available % self.rate.interval),
        }
    }

    /// The units that can be taken, in the time in which they are refilled.
    fn available(&self, now: Nanos) -> Nanos {
        let missing = (self.full_at - now).max(0);
        self.rate.time(self.rate.burst) - missing + self.rate.time(self.held)
    }
}

fn duration(nanos: Nanos) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}
