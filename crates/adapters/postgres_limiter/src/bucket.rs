//! The units of one quota of one principal at this node.

use std::{collections::VecDeque, time::Duration};

use ports::QuotaDecision;
use tokio::sync::oneshot;

use crate::rate::{Nanos, Rate, SECOND};

/// The time after which units that were taken ahead of need are returned.
pub(crate) const UNUSED: Nanos = SECOND;
/// The time after which held units are lost. The row reserves them for two seconds, and a statement
/// takes at most half a second.
const LOST: Nanos = SECOND * 3 / 2;
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
pub(crate) enum Taken {
    /// The decision. With `refill`, the row is to be asked for more.
    Decided {
        decision: QuotaDecision,
        refill: bool,
    },
    /// The row decides. With `ask`, it has not been asked yet.
    Waiting {
        decision: oneshot::Receiver<QuotaDecision>,
        ask: bool,
    },
}

/// A request of a node to a row. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    /// The time that the row is charged, for units granted without it.
    pub(crate) charged: Nanos,
    /// The time of held units that are returned.
    pub(crate) returned: Nanos,
    /// The time of held units that were granted since the last request.
    pub(crate) used: Nanos,
    /// The time until the units are refilled that this node has granted of those it held.
    pub(crate) refilled_in: Nanos,
    /// The number of units without which the node needs none.
    pub(crate) least: u32,
    /// The number of units that it takes if they are available.
    pub(crate) most: u32,
}

/// The answer of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) granted: u32,
    /// The time until the whole burst is available.
    pub(crate) full_in: Nanos,
}

/// The units of one quota of one principal at this node.
///
/// `full_at` is the one number of the generic cell rate algorithm: the time at which the whole burst
/// is available. It is that of the row, as last read, plus what was granted here without the row.
///
/// Held units are missing in the row and must not be refilled there, or they could be granted twice.
/// So the row also has the number of units that all nodes hold, which are missing for as long.
#[derive(Debug)]
pub(crate) struct Bucket {
    rate: Rate,
    full_at: Nanos,
    /// Units that were taken from the row and not used yet.
    held: u32,
    /// The time of held units that were granted, but that the row still counts as held.
    used: Nanos,
    /// The time at which the units are refilled that this node has granted of those it held.
    used_until: Nanos,
    /// The part of `full_at` that the row does not know.
    unpaid: Nanos,
    /// The time of the last answer of the row.
    known_at: Option<Nanos>,
    /// The time of the last request in response to which the row granted units.
    granted_at: Nanos,
    waiting: VecDeque<Waiter>,
    /// True while the row is to be asked, or is being asked.
    is_queued: bool,
    /// True while the age of the held units is watched.
    is_watched: bool,
}

impl Bucket {
    pub(crate) const fn new(rate: Rate, now: Nanos) -> Self {
        Self {
            rate,
            full_at: now,
            held: 0,
            used: 0,
            used_until: now,
            unpaid: 0,
            known_at: None,
            granted_at: now - UNUSED,
            waiting: VecDeque::new(),
            is_queued: false,
            is_watched: false,
        }
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// Takes units without the row, which is charged later.
    pub(crate) fn take_alone(&mut self, units: u32, now: Nanos) -> QuotaDecision {
        let units = units.min(self.rate.burst);
        self.settle(now);
        if self.available(now) < self.rate.time(units) {
            return self.rejected(units, now);
        }
        let of_held = units.min(self.held);
        self.use_held(of_held, now);
        let time = self.rate.time(units - of_held);
        self.full_at = self.full_at.max(now) + time;
        self.unpaid += time;
        self.granted(now)
    }

    /// Takes units that this node holds, or waits for the row.
    pub(crate) fn take_shared(&mut self, units: u32, now: Nanos) -> Taken {
        let units = units.min(self.rate.burst);
        self.settle(now);
        if self.held >= units {
            self.use_held(units, now);
            let refill = self.is_low() && !std::mem::replace(&mut self.is_queued, true);
            let decision = self.granted(now);
            return Taken::Decided { decision, refill };
        }
        if self.is_known(now) && self.available(now) < self.rate.time(units) {
            let decision = self.rejected(units, now);
            let refill = false;
            return Taken::Decided { decision, refill };
        }
        let (sender, decision) = oneshot::channel();
        self.waiting.push_back(Waiter {
            units,
            decision: sender,
        });
        let ask = !std::mem::replace(&mut self.is_queued, true);
        Taken::Waiting { decision, ask }
    }

    /// Returns what to ask of the row, and assumes that the answer comes.
    pub(crate) fn ask(&mut self, now: Nanos) -> Ask {
        self.settle(now);
        let mut ask = Ask {
            charged: self.unpaid,
            returned: 0,
            used: std::mem::take(&mut self.used),
            refilled_in: (self.used_until - now).max(0),
            least: 0,
            most: 0,
        };
        if let Some(first) = self.waiting.front() {
            let wanted: u64 = self.waiting.iter().map(|it| u64::from(it.units)).sum();
            let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
            let wanted = wanted.min(self.rate.burst).max(self.rate.slice);
            ask.least = first.units.saturating_sub(self.held);
            ask.most = wanted.saturating_sub(self.held).max(ask.least);
        } else if self.is_stale(now) || self.held > self.rate.slice {
            ask.returned = self.rate.time(std::mem::take(&mut self.held));
        } else if self.is_low() && now - self.granted_at < UNUSED {
            (ask.least, ask.most) = (1, self.rate.slice - self.held);
        }
        ask
    }

    /// Applies the answer of the row to `ask`, which was sent at `asked_at`, and decides the requests
    /// that wait. Returns whether the row is to be asked again.
    pub(crate) fn apply(&mut self, ask: Ask, asked_at: Nanos, answer: Answer, now: Nanos) -> bool {
        self.unpaid = (self.unpaid - ask.charged).max(0);
        self.full_at = now + answer.full_in + self.unpaid;
        self.known_at = Some(now);
        self.held += answer.granted;
        if answer.granted > 0 {
            self.granted_at = asked_at;
        }
        let mut undecided = VecDeque::new();
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        for waiter in waiting.filter(|waiter| !waiter.decision.is_closed()) {
            if self.held >= waiter.units {
                self.use_held(waiter.units, now);
                let _given_up = waiter.decision.send(self.granted(now));
            } else if self.available(now) < self.rate.time(waiter.units) {
                let _given_up = waiter.decision.send(self.rejected(waiter.units, now));
            } else {
                undecided.push_back(waiter);
            }
        }
        self.waiting = undecided;
        self.is_queued = !self.waiting.is_empty() || self.held > self.rate.slice;
        self.is_queued
    }

    /// Decides the requests that wait without the row.
    pub(crate) fn decide_alone(&mut self, now: Nanos) {
        self.is_queued = false;
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        // A caller that has given up has counted on its own.
        for waiter in waiting.filter(|waiter| !waiter.decision.is_closed()) {
            let decision = self.take_alone(waiter.units, now);
            let _given_up = waiter.decision.send(decision);
        }
    }

    /// Queues the bucket if its units were held for too long. Returns whether it was queued.
    pub(crate) fn queue_if_stale(&mut self, now: Nanos) -> bool {
        self.settle(now);
        self.is_stale(now) && !std::mem::replace(&mut self.is_queued, true)
    }

    /// Returns whether the age of the held units is to be watched from now on.
    pub(crate) fn starts_to_hold(&mut self) -> bool {
        self.held > 0 && !std::mem::replace(&mut self.is_watched, true)
    }

    /// Returns whether the age of the held units is still to be watched.
    pub(crate) const fn keeps_units(&mut self) -> bool {
        self.is_watched = self.held > 0;
        self.is_watched
    }

    /// Queues the bucket if the row is to be charged. Returns whether it was queued.
    pub(crate) fn queue_if_unpaid(&mut self, now: Nanos) -> bool {
        self.settle(now);
        self.unpaid > 0 && !std::mem::replace(&mut self.is_queued, true)
    }

    /// Returns true if a new bucket would be the same.
    pub(crate) fn is_idle(&mut self, now: Nanos) -> bool {
        self.settle(now);
        let is_decided = self.waiting.is_empty() && !self.is_queued;
        self.full_at <= now && self.held == 0 && self.used == 0 && is_decided
    }

    /// Updates the state to the current time. Units granted without the row are refilled, and need
    /// not be charged any more. Held units remain missing, unless the row no longer reserves them.
    fn settle(&mut self, now: Nanos) {
        if now - self.granted_at >= LOST {
            self.held = 0;
            self.used = 0;
        }
        self.unpaid = self.unpaid.min((self.full_at - now).max(0));
        self.full_at = self.full_at.max(now + self.rate.time(self.held));
    }

    fn use_held(&mut self, units: u32, now: Nanos) {
        self.held -= units;
        self.used += self.rate.time(units);
        self.used_until = self.used_until.max(now) + self.rate.time(units);
    }

    /// The units that can be taken, in the time in which they are refilled.
    fn available(&self, now: Nanos) -> Nanos {
        let missing = (self.full_at - now).max(0);
        self.rate.time(self.rate.burst) - missing + self.rate.time(self.held)
    }

    fn is_known(&self, now: Nanos) -> bool {
        self.known_at.is_some_and(|at| now - at < KNOWN_FOR)
    }

    /// Less than half a slice is left, which is refilled before a request has to wait.
    const fn is_low(&self) -> bool {
        self.rate.slice > 1 && self.held < self.rate.slice.div_ceil(2)
    }

    const fn is_stale(&self, now: Nanos) -> bool {
        self.held > 0 && now - self.granted_at >= UNUSED
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

    fn rejected(&self, units: u32, now: Nanos) -> QuotaDecision {
        QuotaDecision {
            is_admitted: false,
            remaining: 0,
            more_in: duration(self.rate.time(units) - self.available(now)),
        }
    }
}

fn duration(nanos: Nanos) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

#[cfg(test)]
mod tests;
