//! Settings of the erasure of deleted data.

use std::time::Duration;

use domain::period::Period;

use super::values::Values;

/// The minimum time: the purge runs every ten seconds, and each of its steps takes a part of the time.
const MIN: Duration = Duration::from_mins(5);
/// The maximum time.
const MAX: Duration = Duration::from_hours(30 * 24);

/// Settings of the erasure of deleted data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureSettings {
    /// `ERASURE__WITHIN`: the time within which deleted data has left the store.
    pub within: Duration,
}

impl ErasureSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let expected = "a whole number followed by s, m, h or d, from 5m to 30d";
        let day = Period(Duration::from_hours(24));
        let parse = |text: &str| Period::parse_in(text, MIN..=MAX);
        Self {
            within: values.read("ERASURE__WITHIN", day, expected, parse).0,
        }
    }
}
