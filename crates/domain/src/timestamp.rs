//! Points in time with millisecond precision, as both databases store them and the API shows them.

use std::{fmt, ops::Add, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use time::{OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339};

/// A time in milliseconds since 1970 in UTC; RFC 3339 with milliseconds and `Z` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The error for a text that is not an RFC 3339 time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 time")]
pub struct MalformedTimestamp;

impl Timestamp {
    /// Creates a time from milliseconds since 1970.
    pub const fn from_milliseconds(milliseconds: i64) -> Self {
        Self(milliseconds)
    }

    /// Returns the milliseconds since 1970.
    pub const fn milliseconds(self) -> i64 {
        self.0
    }

    /// Converts a date and time, truncated to the millisecond.
    pub fn from_date_time(date_time: OffsetDateTime) -> Self {
        let milliseconds = date_time.unix_timestamp_nanos().div_euclid(1_000_000);
        // Dates of the crate `time` are within ±9999 years, far inside 64 bits of milliseconds.
        Self(i64::try_from(milliseconds).unwrap_or(i64::MAX))
    }

    /// Converts to a date and time in UTC; times outside the calendar become 1970.
    pub fn date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// Parses RFC 3339 with any offset. The year in UTC must be 0000 to 9999 too: RFC 3339 cannot
    /// express others, and the two databases store them differently.
    pub fn parse(text: &str) -> Result<Self, MalformedTimestamp> {
        OffsetDateTime::parse(text, &Rfc3339)
            .ok()
            .and_then(|parsed| parsed.checked_to_offset(UtcOffset::UTC))
            .filter(|in_utc| (0..=9999).contains(&in_utc.year()))
            .map(Self::from_date_time)
            .ok_or(MalformedTimestamp)
    }

    /// Returns the time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl FromStr for Timestamp {
    type Err = MalformedTimestamp;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.date_time();
        write!(
            formatter,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            at.year(),
            u8::from(at.month()),
            at.day(),
            at.hour(),
            at.minute(),
            at.second(),
            at.millisecond()
        )
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for Timestamp {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .max_length(Some(40))
            .examples([serde_json::json!("2026-11-20T09:30:00.000Z")])
            .build()
            .into()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for Timestamp {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_with_milliseconds_and_z() {
        assert_eq!(
            Timestamp::from_milliseconds(0).to_string(),
            "1970-01-01T00:00:00.000Z"
        );
        assert_eq!(
            Timestamp::from_milliseconds(1_795_167_000_020).to_string(),
            "2026-11-20T09:30:00.020Z"
        );
    }

    #[test]
    fn times_are_parsed_with_any_offset() {
        let at = Timestamp::from_milliseconds(1_795_167_000_020);
        assert_eq!(Timestamp::parse(&at.to_string()), Ok(at));
        assert_eq!(Timestamp::parse("2026-11-20T10:30:00.0209+01:00"), Ok(at));
        assert_eq!(Timestamp::parse("yesterday"), Err(MalformedTimestamp));
    }

    #[test]
    fn years_that_rfc_3339_cannot_express_in_utc_are_rejected() {
        for text in ["9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01"] {
            assert_eq!(Timestamp::parse(text), Err(MalformedTimestamp), "{text}");
        }
        for (text, in_utc) in [
            ("9999-12-31T23:58:59-00:01", "9999-12-31T23:59:59.000Z"),
            ("0000-01-01T00:01:00+00:01", "0000-01-01T00:00:00.000Z"),
        ] {
            let shown = Timestamp::parse(text).map(|parsed| parsed.to_string());
            assert_eq!(shown, Ok(in_utc.to_owned()));
        }
    }
}
