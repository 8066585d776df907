//! Settings of limits.

use std::{ops::RangeInclusive, time::Duration};

use domain::{Quota, RateLimits, Sizes, UploadQuota};
use socket::SocketTimeouts;

use super::values::Values;

/// The range for indexed text: with its tenant it must fit into a third of a page of Postgres,
/// which is 2,704 bytes, and a character may take four.
const INDEXED: RangeInclusive<u32> = 1..=512;
/// The range for text that is not indexed, but is in memory several times on its way to the
/// database.
const TEXT: RangeInclusive<u32> = 1..=1_000_000;
/// The range for URLs: the HTTP library reads at most 128 KiB of a request's head, headers
/// included.
const URL: RangeInclusive<u32> = 256..=64 * 1024;

/// The range of rates; a million and a half each second is practically unlimited.
const PER_MINUTE: RangeInclusive<u32> = 1..=100_000_000;
/// The range of bursts; the same holds for the limits of a credential.
const BURST: RangeInclusive<u32> = 1..=1_000_000;

const MIB: u32 = 1024 * 1024;
/// The range of bytes of events, per minute and as a burst.
const LOG_BYTES: RangeInclusive<u32> = 1..=u32::MAX;

/// The range of bytes of uploads on a day.
const FILE_BYTES: RangeInclusive<u64> = 1..=1_000_000_000_000;

/// Settings of limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// `LIMITS__REQUESTS__…`, `LIMITS__CHAT__…`, `LIMITS__LOG_BYTES__…` and `LIMITS__STREAMS`: the
    /// limits of principals whose credential has no limits of its own.
    pub rates: RateLimits,
    /// `LIMITS__ADDRESS__…`: the rate of requests without a known credential from one address.
    pub address: Quota,
    /// `LIMITS__FILES__…`: what a user may upload on a day.
    pub uploads: UploadQuota,
    /// `LIMITS__SIZES__…`: the maximum sizes.
    pub sizes: Sizes,
    /// `LIMITS__BODY_SECONDS`: the time in which the body of a request must arrive.
    pub body_deadline: Duration,
    /// The deadlines for clients of sockets; not configurable.
    pub sockets: SocketTimeouts,
}

impl LimitSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let rates = rates(values);
        let address = quota(
            values,
            ("LIMITS__ADDRESS__PER_MINUTE", 6_000),
            ("LIMITS__ADDRESS__BURST", 1_000),
        );
        let seconds = values.read_number("LIMITS__BODY_SECONDS", 15, 1..=3_600);
        Self {
            rates,
            address,
            uploads: UploadQuota {
                files: Some(values.read_number("LIMITS__FILES__PER_DAY", 1_000, BURST)),
                bytes: Some(values.read_number(
                    "LIMITS__FILES__BYTES_PER_DAY",
                    200 * u64::from(MIB),
                    FILE_BYTES,
                )),
            },
            sizes: sizes(values),
            body_deadline: Duration::from_secs(seconds),
            sockets: SocketTimeouts::default(),
        }
    }
}

fn rates(values: &mut Values) -> RateLimits {
    RateLimits {
        requests: quota(
            values,
            ("LIMITS__REQUESTS__PER_MINUTE", 600),
            ("LIMITS__REQUESTS__BURST", 100),
        ),
        chat: quota(
            values,
            ("LIMITS__CHAT__PER_MINUTE", 120),
            ("LIMITS__CHAT__BURST", 30),
        ),
        user_tokens: quota(
            values,
            ("LIMITS__USER_TOKENS__PER_MINUTE", 6_000),
            ("LIMITS__USER_TOKENS__BURST", 1_000),
        ),
        log_bytes: Quota::new(
            values.read_number("LIMITS__LOG_BYTES__PER_MINUTE", 8 * MIB, LOG_BYTES),
            values.read_number("LIMITS__LOG_BYTES__BURST", 64 * MIB, LOG_BYTES),
        ),
        streams: values.read_number("LIMITS__STREAMS", 32, 0..=1_000_000),
    }
}

fn quota(
    values: &mut Values,
    per_minute: (&'static str, u32),
    burst: (&'static str, u32),
) -> Quota {
    Quota::new(
        values.read_number(per_minute.0, per_minute.1, PER_MINUTE),
        values.read_number(burst.0, burst.1, BURST),
    )
}

fn sizes(values: &mut Values) -> Sizes {
    let default = Sizes::default();
    let mut read = |variable, default, range| values.read_number(variable, default, range);
    Sizes {
        name_characters: read(
            "LIMITS__SIZES__NAME_CHARACTERS",
            default.name_characters,
            INDEXED,
        ),
        personality_characters: read(
            "LIMITS__SIZES__PERSONALITY_CHARACTERS",
            default.personality_characters,
            TEXT,
        ),
        capabilities: read(
            "LIMITS__SIZES__CAPABILITIES",
            default.capabilities,
            0..=1_000,
        ),
        capability_characters: read(
            "LIMITS__SIZES__CAPABILITY_CHARACTERS",
            default.capability_characters,
            INDEXED,
        ),
        message_characters: read(
            "LIMITS__SIZES__MESSAGE_CHARACTERS",
            default.message_characters,
            TEXT,
        ),
        title_characters: read(
            "LIMITS__SIZES__TITLE_CHARACTERS",
            default.title_characters,
            1..=10_000,
        ),
        user_id_characters: read(
            "LIMITS__SIZES__USER_ID_CHARACTERS",
            default.user_id_characters,
            INDEXED,
        ),
        rules: read("LIMITS__SIZES__RULES", default.rules, 0..=1_000),
        body_bytes: read(
            "LIMITS__SIZES__BODY_BYTES",
            default.body_bytes,
            1_024..=16 * 1024 * 1024,
        ),
        file_bytes: read(
            "LIMITS__SIZES__FILE_BYTES",
            default.file_bytes,
            1_024..=1024 * MIB,
        ),
        url_bytes: read("LIMITS__SIZES__URL_BYTES", default.url_bytes, URL),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_size_can_be_set_under_its_own_name() {
        let fields = serde_json::to_value(Sizes::default()).unwrap();
        let expected: BTreeSet<String> = fields
            .as_object()
            .unwrap()
            .keys()
            .map(|field| format!("LIMITS__SIZES__{}", screaming(field)))
            .collect();
        let mut values = Values::default();
        sizes(&mut values);
        let read: BTreeSet<String> = values
            .into_keys()
            .into_iter()
            .map(|key| key.variable.to_owned())
            .collect();
        assert_eq!(read, expected);
    }

    fn screaming(camel_case: &str) -> String {
        let mut name = String::new();
        for character in camel_case.chars() {
            if character.is_uppercase() {
                name.push('_');
            }
            name.extend(character.to_uppercase());
        }
        name
    }
}
