//! How much may come in.

use std::{ops::RangeInclusive, time::Duration};

use domain::Sizes;

use super::values::Values;

/// What stands in a database index, with its tenant, must fit into a third of a page of Postgres:
/// 2,704 bytes, and a character may take four.
const INDEXED: RangeInclusive<u32> = 1..=512;
/// Text that a database keeps, but that is held in memory several times on its way there.
const TEXT: RangeInclusive<u32> = 1..=1_000_000;
/// The HTTP layer holds at most 128 KiB of a request's head, headers included.
const URL: RangeInclusive<u32> = 256..=64 * 1024;

/// How much may come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// `LIMITS__SIZES__…`: how large things may be.
    pub sizes: Sizes,
    /// `LIMITS__BODY_SECONDS`: how long a request's body may take to arrive.
    pub body_deadline: Duration,
}

impl LimitSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let seconds = values.read_number("LIMITS__BODY_SECONDS", 15, 1..=3_600);
        Self {
            sizes: sizes(values),
            body_deadline: Duration::from_secs(seconds),
        }
    }
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
