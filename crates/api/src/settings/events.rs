//! Settings of the event log.

use std::time::Duration;

use domain::period::Period;

use super::values::Values;

/// Settings of the event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSettings {
    /// `EVENTS__RETENTION`: the time for which events stay in the log.
    pub retention: Duration,
}

impl EventSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let expected = "a whole number followed by s, m, h or d, from 1m to 3650d";
        let week = Period(Duration::from_hours(7 * 24));
        let parse = |text: &str| Period::parse_in(text, MIN_RETENTION..=MAX_RETENTION);
        Self {
            retention: values.read("EVENTS__RETENTION", week, expected, parse).0,
        }
    }
}

/// The minimum retention: a client that reconnects must find what it missed.
const MIN_RETENTION: Duration = Duration::from_mins(1);
/// The maximum retention: ten years.
const MAX_RETENTION: Duration = Duration::from_hours(3_650 * 24);
