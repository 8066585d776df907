//! What was given for each setting, as text, and how sections read it.

use std::{collections::BTreeMap, fmt::Display, ops::RangeInclusive, str::FromStr};

use super::error::InvalidSetting;

/// One setting, for whoever lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its variable, by which it is known everywhere.
    pub variable: &'static str,
    /// What holds when it is not set, as it would be written; `None` when that is no fixed value.
    pub default: Option<String>,
}

/// What was given for one setting.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// The value; `None` when it is a list or a table, which no setting takes.
    pub(super) text: Option<String>,
    /// The key in the file, when it comes from there.
    pub(super) file_key: Option<String>,
}

/// What was given for all settings. Reading goes on after a value that does not fit, so that one
/// start tells every mistake; it also notes each setting asked for: the list of all settings is
/// what the sections read.
#[derive(Debug, Default)]
pub(super) struct Values {
    given: BTreeMap<String, Given>,
    keys: Vec<Key>,
    invalid: Vec<InvalidSetting>,
}

impl Values {
    /// Values by variable, and the settings already found unknown.
    pub(super) fn new(given: BTreeMap<String, Given>, invalid: Vec<InvalidSetting>) -> Self {
        Self {
            given,
            keys: Vec::new(),
            invalid,
        }
    }

    /// A setting with a fixed default. `expected` completes "… must be".
    pub(super) fn read<T: Display>(
        &mut self,
        variable: &'static str,
        default: T,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> T {
        self.keys.push(Key {
            variable,
            default: Some(default.to_string()),
        });
        self.parsed(variable, expected, parse).unwrap_or(default)
    }

    /// A setting that may be absent. `expected` completes "… must be".
    pub(super) fn read_optional<T>(
        &mut self,
        variable: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.keys.push(Key {
            variable,
            default: None,
        });
        self.parsed(variable, expected, parse)
    }

    /// A whole number with a fixed default.
    pub(super) fn read_number<N: FromStr + PartialOrd + Display>(
        &mut self,
        variable: &'static str,
        default: N,
        range: RangeInclusive<N>,
    ) -> N {
        let expected = whole_number(&range);
        self.read(variable, default, &expected, number_in(range))
    }

    /// A whole number that may be absent.
    pub(super) fn read_optional_number<N: FromStr + PartialOrd + Display>(
        &mut self,
        variable: &'static str,
        range: RangeInclusive<N>,
    ) -> Option<N> {
        let expected = whole_number(&range);
        self.read_optional(variable, &expected, number_in(range))
    }

    /// Everything that was asked for.
    pub(super) fn into_keys(self) -> Vec<Key> {
        self.keys
    }

    /// Everything that was refused.
    pub(super) fn into_invalid(self) -> Vec<InvalidSetting> {
        self.invalid
    }

    fn parsed<T>(
        &mut self,
        variable: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let given = self.given.get(variable)?;
        let parsed = given.text.as_deref().and_then(parse);
        if parsed.is_none() {
            self.invalid.push(InvalidSetting::BadValue {
                variable,
                file_key: given.file_key.clone(),
                expected: expected.to_owned(),
            });
        }
        parsed
    }
}

fn whole_number<N: Display>(range: &RangeInclusive<N>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

fn number_in<N: FromStr + PartialOrd>(range: RangeInclusive<N>) -> impl FnOnce(&str) -> Option<N> {
    move |text| text.parse().ok().filter(|number| range.contains(number))
}
