//! The record of the requests to the model and to the tools, and the points at which they hold turns.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::random::Random;

/// A tool of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tool {
    /// Only reads.
    Price,
    /// Does nothing twice for one call id.
    Reserve,
    /// Acts.
    Refund,
}

impl Tool {
    pub(super) const ALL: [Self; 3] = [Self::Price, Self::Reserve, Self::Refund];

    /// Its name at its server.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Price => "price",
            Self::Reserve => "reserve",
            Self::Refund => "refund",
        }
    }

    /// The name that the model sees.
    pub(super) const fn function(self) -> &'static str {
        match self {
            Self::Price => "shop_price",
            Self::Reserve => "stock_reserve",
            Self::Refund => "shop_refund",
        }
    }
}

/// A point of a turn that the model or a tool sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Point {
    /// A request to the model with so many calls of the turn.
    Model(usize),
    /// A call.
    Call(Tool),
}

/// A call that a tool has received.
#[derive(Debug, Clone)]
pub(super) struct ReceivedCall {
    pub(super) tool: Tool,
    pub(super) id: String,
    pub(super) attempt: u64,
    pub(super) at: Instant,
    /// The time at which the tool answered.
    pub(super) answered: Option<Instant>,
}

/// A request that the model has received.
#[derive(Debug, Clone)]
pub(super) struct ReceivedRequest {
    pub(super) at: Instant,
    /// The number of calls after the last message of the user.
    pub(super) own_calls: usize,
    /// The ids of calls that it shows as ended well.
    pub(super) succeeded: BTreeSet<String>,
    /// The number of calls whose outcome it shows as unknown.
    pub(super) unknown: usize,
    /// Histories that no provider would accept.
    pub(super) faults: Vec<String>,
}

/// The record of one order.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) calls: Vec<ReceivedCall>,
    pub(super) requests: Vec<ReceivedRequest>,
}

/// The points at which a turn is held, and those at which it is.
#[derive(Default)]
struct Hold {
    at: BTreeSet<Point>,
    reached: BTreeSet<Point>,
}

struct State {
    seen: BTreeMap<String, Seen>,
    holds: BTreeMap<String, Hold>,
    /// The longest pause, in milliseconds, between the release of a point and the answer.
    jitter: u64,
    random: Random,
}

/// The record of all requests in one laboratory.
pub(super) struct Record {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

impl Record {
    pub(super) fn new(random: Random) -> Self {
        Self {
            state: Mutex::new(State {
                seen: BTreeMap::new(),
                holds: BTreeMap::new(),
                jitter: 0,
                random,
            }),
            changes: watch::Sender::new(0),
        }
    }

    /// Holds the turns of an order at these points from now on.
    pub(super) fn hold(&self, order: &str, at: impl IntoIterator<Item = Point>) {
        let hold = Hold {
            at: at.into_iter().collect(),
            reached: BTreeSet::new(),
        };
        self.state.lock().holds.insert(order.to_owned(), hold);
    }

    /// Releases all points; each answers after a pause of up to `jitter` milliseconds.
    pub(super) fn release(&self, jitter: u64) {
        let mut state = self.state.lock();
        state.holds.clear();
        state.jitter = jitter;
        drop(state);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Waits until so many points of an order hold, and returns false if they do not in time.
    pub(super) async fn wait(&self, order: &str, points: usize, most: Duration) -> bool {
        let is_reached = || {
            let state = self.state.lock();
            let hold = state.holds.get(order);
            hold.is_some_and(|hold| hold.reached.len() >= points)
        };
        let mut changes = self.changes.subscribe();
        let waited = timeout(most, changes.wait_for(|_| is_reached())).await;
        waited.is_ok_and(|reached| reached.is_ok())
    }

    /// Answers after this point if it holds.
    pub(super) async fn pass(&self, order: &str, point: Point) {
        {
            let mut state = self.state.lock();
            let hold = state.holds.get_mut(order);
            match hold.filter(|hold| hold.at.contains(&point)) {
                Some(hold) => hold.reached.insert(point),
                None => return,
            };
        }
        self.changes.send_modify(|changes| *changes += 1);
        let is_released = || !self.state.lock().holds.contains_key(order);
        let mut changes = self.changes.subscribe();
        // The sender is a part of this record.
        let _ = changes.wait_for(|_| is_released()).await;
        let pause = {
            let mut state = self.state.lock();
            let jitter = state.jitter * 1_000;
            state.random.number(0..jitter + 1)
        };
        sleep(Duration::from_micros(pause)).await;
    }

    /// Records a call, and returns its number.
    pub(super) fn add_call(&self, order: &str, call: ReceivedCall) -> usize {
        let mut state = self.state.lock();
        let calls = &mut state.seen.entry(order.to_owned()).or_default().calls;
        calls.push(call);
        calls.len() - 1
    }

    /// Records that a call is answered.
    pub(super) fn answer_call(&self, order: &str, number: usize) {
        let mut state = self.state.lock();
        let seen = state.seen.get_mut(order);
        if let Some(call) = seen.and_then(|seen| seen.calls.get_mut(number)) {
            call.answered = Some(Instant::now());
        }
    }

    /// Records a request to the model.
    pub(super) fn add_request(&self, order: &str, request: ReceivedRequest) {
        let mut state = self.state.lock();
        let seen = state.seen.entry(order.to_owned()).or_default();
        seen.requests.push(request);
    }

    /// Returns the record of an order so far.
    pub(super) fn seen(&self, order: &str) -> Seen {
        self.state
            .lock()
            .seen
            .get(order)
            .cloned()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_point_holds_until_it_is_released() {
        let record = Record::new(Random::new(1));
        record.hold("a", [Point::Call(Tool::Price)]);
        record.pass("a", Point::Model(0)).await;
        record.pass("b", Point::Call(Tool::Price)).await;
        let second = Duration::from_secs(1);
        assert!(!record.wait("a", 1, second / 100).await);
        let held = async {
            record.pass("a", Point::Call(Tool::Price)).await;
            Instant::now()
        };
        let released = async {
            assert!(record.wait("a", 1, second).await);
            let at = Instant::now();
            record.release(0);
            at
        };
        let (passed, released) = tokio::join!(held, released);
        assert!(passed >= released);
    }
}
