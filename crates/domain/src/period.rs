//! Durations as operators and clients write them.

use std::{fmt, ops::RangeInclusive, time::Duration};

/// The seconds in each unit, in descending order.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// A duration as it is written: `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period(pub Duration);

impl fmt::Display for Period {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let whole = UNITS
            .into_iter()
            .find(|(_, unit)| seconds.is_multiple_of(*unit));
        let (name, unit) = whole.unwrap_or(('s', 1));
        write!(formatter, "{}{name}", seconds / unit)
    }
}

impl Period {
    /// Parses a duration in this range: a whole number followed by `s`, `m`, `h` or `d`.
    pub fn parse_in(text: &str, range: RangeInclusive<Duration>) -> Option<Self> {
        let (_, unit) = UNITS.into_iter().find(|(name, _)| text.ends_with(*name))?;
        let digits = &text[..text.len() - 1];
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let seconds = digits.parse::<u64>().ok()?.checked_mul(unit)?;
        let period = Duration::from_secs(seconds);
        range.contains(&period).then_some(Self(period))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(text: &str) -> Option<Period> {
        Period::parse_in(
            text,
            Duration::from_mins(1)..=Duration::from_hours(3_650 * 24),
        )
    }

    #[test]
    fn a_period_is_a_number_and_a_unit() {
        let cases = [
            ("7d", 7 * 86_400),
            ("36h", 36 * 3_600),
            ("90m", 5_400),
            ("60s", 60),
            ("007d", 7 * 86_400),
            ("3650d", 3_650 * 86_400),
        ];
        for (text, seconds) in cases {
            assert_eq!(period(text), Some(Period(Duration::from_secs(seconds))));
        }
        for text in [
            "",
            "7",
            "d",
            "7 d",
            "7D",
            "-7d",
            "+7d",
            "7w",
            "1.5d",
            "59s",
            "0d",
            "3651d",
            "7dd",
            "99999999999999999999d",
            "9999999999999999999d",
            "７d",
        ] {
            assert_eq!(period(text), None, "{text}");
        }
    }

    #[test]
    fn a_period_is_shown_in_the_longest_unit_that_fits() {
        for text in ["7d", "36h", "90m", "61s"] {
            assert_eq!(period(text).unwrap().to_string(), text);
        }
        assert_eq!(period("48h").unwrap().to_string(), "2d");
    }
}
