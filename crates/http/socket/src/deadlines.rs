//! The deadlines of a socket, driven by one timer.

use std::{pin::Pin, time::Duration};

use tokio::time::{Instant, Sleep, sleep_until};

use super::CloseCode;

/// The timeouts of sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketTimeouts {
    /// The time for the first frame of a client without a credential.
    pub connect: Duration,
    /// The interval between pings.
    pub ping: Duration,
    /// The time for the answer to a ping.
    pub pong: Duration,
    /// The maximum time for which a client reads nothing while frames wait to be sent.
    pub write: Duration,
}

impl Default for SocketTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            ping: Duration::from_secs(25),
            pong: Duration::from_secs(10),
            write: Duration::from_secs(10),
        }
    }
}

/// An action that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DueAction {
    /// No action.
    Nothing,
    /// Send a ping.
    Ping,
    /// Close the socket.
    Close(CloseCode),
}

/// The deadlines of one socket.
#[derive(Debug)]
pub(crate) struct Deadlines {
    times: SocketTimeouts,
    connect: Option<Instant>,
    ping: Instant,
    pong: Option<Instant>,
}

impl Deadlines {
    /// The deadlines of a new socket. `is_authenticated` is whether the upgrade carried a
    /// credential.
    pub(super) fn new(times: SocketTimeouts, is_authenticated: bool, now: Instant) -> Self {
        Self {
            times,
            connect: (!is_authenticated).then_some(now + times.connect),
            ping: now + times.ping,
            pong: None,
        }
    }

    /// The milliseconds between two pings.
    pub(crate) fn ping_interval_ms(&self) -> u64 {
        u64::try_from(self.times.ping.as_millis()).unwrap_or(u64::MAX)
    }

    /// Records that the client has authenticated.
    pub(crate) fn authenticated(&mut self) {
        self.connect = None;
    }

    /// Records that the client has sent something.
    pub(super) fn received(&mut self) {
        self.pong = None;
    }

    /// Returns the action that is due. `stalled_since` is the time since which the client has read
    /// nothing although frames wait; `is_reading` is whether the socket reads what the client
    /// sends: if it does not, a missing pong is not the client's fault.
    pub(super) fn due(
        &mut self,
        now: Instant,
        stalled_since: Option<Instant>,
        is_reading: bool,
    ) -> DueAction {
        let has_passed = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if has_passed(self.connect) {
            return DueAction::Close(CloseCode::ConnectTimeout);
        }
        if has_passed(stalled_since.map(|since| since + self.times.write)) {
            return DueAction::Close(CloseCode::SlowConsumer);
        }
        if has_passed(self.pong) {
            if is_reading {
                return DueAction::Close(CloseCode::NoPong);
            }
            self.pong = Some(now + self.times.pong);
        }
        if self.ping <= now {
            self.ping = now + self.times.ping;
            self.pong.get_or_insert(now + self.times.pong);
            return DueAction::Ping;
        }
        DueAction::Nothing
    }

    /// The time of the next deadline.
    pub(super) fn next_deadline(&self, stalled_since: Option<Instant>) -> Instant {
        let stalled = stalled_since.map(|since| since + self.times.write);
        let others = [self.connect, self.pong, stalled];
        others.into_iter().flatten().fold(self.ping, Instant::min)
    }
}

/// A timer that is reset only to fire earlier.
pub(super) struct Timer(Pin<Box<Sleep>>);

impl Timer {
    /// A timer that fires at `at`.
    pub(super) fn new(at: Instant) -> Self {
        Self(Box::pin(sleep_until(at)))
    }

    /// Makes the timer fire at `at` or before.
    pub(super) fn set(&mut self, at: Instant) {
        if at < self.0.deadline() || self.0.is_elapsed() {
            self.0.as_mut().reset(at);
        }
    }

    /// Waits until the timer fires.
    pub(super) async fn fired(&mut self) {
        self.0.as_mut().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: SocketTimeouts = SocketTimeouts {
        connect: Duration::from_secs(10),
        ping: Duration::from_secs(25),
        pong: Duration::from_secs(10),
        write: Duration::from_secs(10),
    };

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn the_default_timeouts_are_the_documented_ones() {
        assert_eq!(SocketTimeouts::default(), TIMES);
    }

    #[test]
    fn an_unauthenticated_client_must_connect_in_time() {
        let start = Instant::now();
        let mut deadlines = Deadlines::new(TIMES, false, start);
        assert_eq!(deadlines.next_deadline(None), start + seconds(10));
        assert_eq!(
            deadlines.due(start + seconds(9), None, true),
            DueAction::Nothing
        );
        let late = deadlines.due(start + seconds(10), None, true);
        assert_eq!(late, DueAction::Close(CloseCode::ConnectTimeout));
        deadlines.authenticated();
        assert_eq!(
            deadlines.due(start + seconds(10), None, true),
            DueAction::Nothing
        );
        assert_eq!(deadlines.next_deadline(None), start + seconds(25));
    }

    #[test]
    fn a_ping_is_due_every_25_seconds_and_its_answer_within_10() {
        let start = Instant::now();
        let mut deadlines = Deadlines::new(TIMES, true, start);
        assert_eq!(
            deadlines.due(start + seconds(25), None, true),
            DueAction::Ping
        );
        assert_eq!(
            deadlines.due(start + seconds(25), None, true),
            DueAction::Nothing
        );
        assert_eq!(deadlines.next_deadline(None), start + seconds(35));
        deadlines.received();
        assert_eq!(
            deadlines.due(start + seconds(35), None, true),
            DueAction::Nothing
        );
        assert_eq!(
            deadlines.due(start + seconds(50), None, true),
            DueAction::Ping
        );
        assert_eq!(
            deadlines.due(start + seconds(59), None, true),
            DueAction::Nothing
        );
        let silent = deadlines.due(start + seconds(60), None, true);
        assert_eq!(silent, DueAction::Close(CloseCode::NoPong));
    }

    #[test]
    fn a_pong_is_not_expected_while_the_socket_does_not_read() {
        let start = Instant::now();
        let mut deadlines = Deadlines::new(TIMES, true, start);
        assert_eq!(
            deadlines.due(start + seconds(25), None, true),
            DueAction::Ping
        );
        assert_eq!(
            deadlines.due(start + seconds(35), None, false),
            DueAction::Nothing
        );
        assert_eq!(
            deadlines.due(start + seconds(44), None, true),
            DueAction::Nothing
        );
        let silent = deadlines.due(start + seconds(45), None, true);
        assert_eq!(silent, DueAction::Close(CloseCode::NoPong));
    }

    #[test]
    fn a_client_that_reads_nothing_for_10_seconds_is_too_slow() {
        let start = Instant::now();
        let mut deadlines = Deadlines::new(TIMES, true, start);
        let stalled = Some(start + seconds(3));
        assert_eq!(deadlines.next_deadline(stalled), start + seconds(13));
        assert_eq!(
            deadlines.due(start + seconds(12), stalled, true),
            DueAction::Nothing
        );
        let slow = deadlines.due(start + seconds(13), stalled, true);
        assert_eq!(slow, DueAction::Close(CloseCode::SlowConsumer));
    }
}
