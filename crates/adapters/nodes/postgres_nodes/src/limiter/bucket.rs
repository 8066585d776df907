//! The requests for units of one quota of one principal at this node.

use std::collections::VecDeque;

use ports::QuotaDecision;
use tokio::sync::oneshot;

use crate::limiter::{
    rate::{Nanos, Rate, SECOND},
    units::{NeededUnits, RowRequest, RowResponse, Units},
};

/// The time for which the state of the row counts as known. A request that it does not allow is
/// rejected without another round trip, so that rejections do not load the database.
const KNOWN_FOR: Nanos = SECOND / 10;

/// A request that waits for the row.
#[derive(Debug)]
struct Waiter {
    units: u32,
    decision: oneshot::Sender<QuotaDecision>,
}

/// The first step of a request.
#[derive(Debug)]
pub(crate) enum TakeStep {
    /// The decision. With `must_query`, the row is to be queried for more.
    Decided {
        decision: QuotaDecision,
        must_query: bool,
    },
    /// The row decides. With `must_query`, no query of it is queued yet.
    Waiting {
        decision: oneshot::Receiver<QuotaDecision>,
        must_query: bool,
    },
}

/// The units of one quota of one principal, and the requests for them.
#[derive(Debug)]
pub(crate) struct Bucket {
    units: Units,
    /// The time of the last response of the row.
    known_at: Option<Nanos>,
    waiting: VecDeque<Waiter>,
    /// True while the row is to be queried, or is being queried.
    is_queued: bool,
    /// True while the age of the held units is watched.
    is_watched: bool,
}

impl Bucket {
    pub(crate) const fn new(rate: Rate, now: Nanos) -> Self {
        Self {
            units: Units::new(rate, now),
            known_at: None,
            waiting: VecDeque::new(),
            is_queued: false,
            is_watched: false,
        }
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.units.rate
    }

    /// Takes units without the row, which is charged later.
    pub(crate) fn take_locally(&mut self, units: u32, now: Nanos) -> QuotaDecision {
        self.units.settle(now);
        self.units.take_unpaid(units.min(self.rate().burst), now)
    }

    /// Takes units that this node holds, or waits for the row.
    pub(crate) fn take_shared(&mut self, units: u32, now: Nanos) -> TakeStep {
        let units = units.min(self.rate().burst);
        self.units.settle(now);
        if let Some(decision) = self.units.take_held(units, now) {
            let must_query = self.units.is_low() && !std::mem::replace(&mut self.is_queued, true);
            return TakeStep::Decided {
                decision,
                must_query,
            };
        }
        if self.is_known(now) && self.units.lacks(units, now) {
            return TakeStep::Decided {
                decision: self.units.rejected(units, now),
                must_query: false,
            };
        }
        let (sender, decision) = oneshot::channel();
        self.waiting.push_back(Waiter {
            units,
            decision: sender,
        });
        let must_query = !std::mem::replace(&mut self.is_queued, true);
        TakeStep::Waiting {
            decision,
            must_query,
        }
    }

    /// Returns the next request to the row, and assumes that a response comes.
    pub(crate) fn next_request(&mut self, now: Nanos) -> RowRequest {
        self.units.settle(now);
        let (held, slice) = (self.units.held(), self.rate().slice);
        let is_unused = self.units.is_unused(now);
        let mut returns_held = false;
        let mut needed = NeededUnits::default();
        if let Some(first) = self.waiting.front() {
            let wanted: u64 = self.waiting.iter().map(|it| u64::from(it.units)).sum();
            let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
            let wanted = wanted.min(self.rate().burst);
            let least = first.units.saturating_sub(held);
            needed = NeededUnits {
                least,
                most: wanted.max(slice).saturating_sub(held).max(least),
                at_once: wanted.saturating_sub(held),
            };
        } else if is_unused || held > slice {
            returns_held = true;
        } else if self.units.is_low() {
            needed = NeededUnits {
                least: 1,
                most: slice - held,
                at_once: 0,
            };
        }
        self.units.next_request(needed, returns_held, now)
    }

    /// Applies the response of the row to a request that was sent at `sent_at`, and decides the
    /// requests that wait. Returns whether the row is to be queried again.
    pub(crate) fn apply(
        &mut self,
        request: RowRequest,
        sent_at: Nanos,
        response: RowResponse,
        now: Nanos,
    ) -> bool {
        self.units.apply(request, sent_at, response, now);
        self.known_at = Some(now);
        let mut undecided = VecDeque::new();
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        for waiter in waiting.filter(|waiter| !waiter.decision.is_closed()) {
            let units = waiter.units;
            if let Some(decision) = self.units.take_held(units, now) {
                let _given_up = waiter.decision.send(decision);
            } else if self.units.lacks(units, now) {
                let _given_up = waiter.decision.send(self.units.rejected(units, now));
            } else {
                undecided.push_back(waiter);
            }
        }
        self.waiting = undecided;
        self.is_queued = !self.waiting.is_empty()
            || self.units.held() > self.rate().slice
            || self.units.hold_more_than_known();
        self.is_queued
    }

    /// Decides the requests that wait without the row.
    pub(crate) fn decide_locally(&mut self, now: Nanos) {
        self.is_queued = false;
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        // A caller that has given up has counted on its own.
        for waiter in waiting.filter(|waiter| !waiter.decision.is_closed()) {
            let decision = self.take_locally(waiter.units, now);
            let _given_up = waiter.decision.send(decision);
        }
    }

    /// Queues the bucket if its units were held for too long. Returns whether it was queued.
    pub(crate) fn queue_if_unused(&mut self, now: Nanos) -> bool {
        self.units.settle(now);
        let is_due = self.units.held() > 0 && self.units.is_unused(now);
        is_due && !std::mem::replace(&mut self.is_queued, true)
    }

    /// Returns whether the age of the held units is to be watched from now on.
    pub(crate) const fn starts_to_hold(&mut self) -> bool {
        self.units.held() > 0 && !std::mem::replace(&mut self.is_watched, true)
    }

    /// Returns whether the age of the held units is still to be watched.
    pub(crate) const fn keeps_units(&mut self) -> bool {
        self.is_watched = self.units.held() > 0;
        self.is_watched
    }

    /// Queues the bucket if the row is to be charged. Returns whether it was queued.
    pub(crate) fn queue_if_unpaid(&mut self, now: Nanos) -> bool {
        self.units.settle(now);
        self.units.is_unpaid() && !std::mem::replace(&mut self.is_queued, true)
    }

    /// Returns true if a new bucket would be the same.
    pub(crate) fn is_idle(&mut self, now: Nanos) -> bool {
        self.units.settle(now);
        self.units.is_full(now) && self.waiting.is_empty() && !self.is_queued
    }

    fn is_known(&self, now: Nanos) -> bool {
        self.known_at.is_some_and(|at| now - at < KNOWN_FOR)
    }
}

#[cfg(test)]
mod tests;
