//! By when something must have happened on a socket: one timer for all of it.

use std::{pin::Pin, time::Duration};

use tokio::time::{Instant, Sleep, sleep_until};

use super::CloseCode;

/// How long a client may take for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketTimes {
    /// The first frame of a client that carried no credential.
    pub connect: Duration,
    /// Between two pings.
    pub ping: Duration,
    /// The answer to a ping.
    pub pong: Duration,
    /// To take anything at all of what waits for it.
    pub write: Duration,
}

impl Default for SocketTimes {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            ping: Duration::from_secs(25),
            pong: Duration::from_secs(10),
            write: Duration::from_secs(10),
        }
    }
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing is.
    Nothing,
    /// A ping.
    Ping,
    /// The end.
    Close(CloseCode),
}

/// By when something must have happened on one socket.
#[derive(Debug)]
pub(super) struct Deadlines {
    times: SocketTimes,
    connect: Option<Instant>,
    ping: Instant,
    pong: Option<Instant>,
}

impl Deadlines {
    /// Those of a socket that was just opened. `is_known` is whether its upgrade carried a
    /// credential.
    pub(super) fn new(times: SocketTimes, is_known: bool, now: Instant) -> Self {
        Self {
            times,
            connect: (!is_known).then_some(now + times.connect),
            ping: now + times.ping,
            pong: None,
        }
    }

    /// Milliseconds between two pings.
    pub(super) fn ping_interval_ms(&self) -> u64 {
        u64::try_from(self.times.ping.as_millis()).unwrap_or(u64::MAX)
    }

    /// The client has said who it is.
    pub(super) fn connected(&mut self) {
        self.connect = None;
    }

    /// Something came from the client.
    pub(super) fn heard(&mut self) {
        self.pong = None;
    }

    /// What is due by now. `stuck_since` is since when the client takes nothing of what waits for
    /// it; `is_listening` is whether it would be heard if it answered.
    pub(super) fn due(
        &mut self,
        now: Instant,
        stuck_since: Option<Instant>,
        is_listening: bool,
    ) -> Due {
        let has_passed = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if has_passed(self.connect) {
            return Due::Close(CloseCode::ConnectTimeout);
        }
        if has_passed(stuck_since.map(|since| since + self.times.write)) {
            return Due::Close(CloseCode::SlowConsumer);
        }
        if has_passed(self.pong) {
            if is_listening {
                return Due::Close(CloseCode::NoPong);
            }
            self.pong = Some(now + self.times.pong);
        }
        if self.ping <= now {
            self.ping = now + self.times.ping;
            self.pong.get_or_insert(now + self.times.pong);
            return Due::Ping;
        }
        Due::Nothing
    }

    /// When to look again.
    pub(super) fn next(&self, stuck_since: Option<Instant>) -> Instant {
        let stuck = stuck_since.map(|since| since + self.times.write);
        let others = [self.connect, self.pong, stuck];
        others.into_iter().flatten().fold(self.ping, Instant::min)
    }
}

/// A timer that is moved only when it would ring too late.
pub(super) struct Alarm(Pin<Box<Sleep>>);

impl Alarm {
    /// Rings at `at`.
    pub(super) fn new(at: Instant) -> Self {
        Self(Box::pin(sleep_until(at)))
    }

    /// Rings at `at` or before.
    pub(super) fn set(&mut self, at: Instant) {
        if at < self.0.deadline() || self.0.is_elapsed() {
            self.0.as_mut().reset(at);
        }
    }

    /// Waits until it rings.
    pub(super) async fn rung(&mut self) {
        self.0.as_mut().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: SocketTimes = SocketTimes {
        connect: Duration::from_secs(10),
        ping: Duration::from_secs(25),
        pong: Duration::from_secs(10),
        write: Duration::from_secs(10),
    };

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn the_times_are_those_of_the_contract() {
        assert_eq!(SocketTimes::default(), TIMES);
    }

    #[test]
    fn who_is_not_known_must_connect_in_time() {
        let start = Instant::now();
        let mut deadlines = Deadlines::new(TIMES, false, start);
        assert_eq!(deadlines.next(None), start + seconds(10));
        assert_eq!(deadlines.due(start + seconds(9), None, true), Due::Nothing);
        let late = deadlines.due(start + seconds(10), None, true);
        assert_eq!(late, Due::Close(CloseCode::ConnectTimeout));
        deadlines.connected();
        assert_eq!(deadlines.due(start + seconds(10), None, true), Due::Nothing);
        assert_eq!(deadlines.next(None), start + seconds(25));
    }

    #[test]
    fn a_ping_is_due_every_25_seconds_and_its_answer_within_10() {
        let start = Instant::now();
        let mut deadlines = Deadlines::new(TIMES, true, start);
        assert_eq!(deadlines.due(start + seconds(25), None, true), Due::Ping);
        assert_eq!(deadlines.due(start + seconds(25), None, true), Due::Nothing);
        assert_eq!(deadlines.next(None), start + seconds(35));
        deadlines.heard();
        assert_eq!(deadlines.due(start + seconds(35), None, true), Due::Nothing);
        assert_eq!(deadlines.due(start + seconds(50), None, true), Due::Ping);
        assert_eq!(deadlines.due(start + seconds(59), None, true), Due::Nothing);
        let silent = deadlines.due(start + seconds(60), None, true);
        assert_eq!(silent, Due::Close(CloseCode::NoPong));
    }

    #[test]
    fn who_is_not_listened_to_is_not_missed() {
        let start = Instant::now();
        let mut deadlines = Deadlines::new(TIMES, true, start);
        assert_eq!(deadlines.due(start + seconds(25), None, true), Due::Ping);
        assert_eq!(
            deadlines.due(start + seconds(35), None, false),
            Due::Nothing
        );
        assert_eq!(deadlines.due(start + seconds(44), None, true), Due::Nothing);
        let silent = deadlines.due(start + seconds(45), None, true);
        assert_eq!(silent, Due::Close(CloseCode::NoPong));
    }

    #[test]
    fn who_takes_nothing_for_10_seconds_is_too_slow() {
        let start = Instant::now();
        let mut deadlines = Deadlines::new(TIMES, true, start);
        let stuck = Some(start + seconds(3));
        assert_eq!(deadlines.next(stuck), start + seconds(13));
        assert_eq!(
            deadlines.due(start + seconds(12), stuck, true),
            Due::Nothing
        );
        let slow = deadlines.due(start + seconds(13), stuck, true);
        assert_eq!(slow, Due::Close(CloseCode::SlowConsumer));
    }
}
