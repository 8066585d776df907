//! The values of settings as text, and how sections read them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    ops::RangeInclusive,
    str::FromStr,
};

use super::{
    error::InvalidSetting,
    key::{MisnamedVariable, SettingKey, member_in_variable, name_in_variable, variable_for},
    named::NamedSettings,
};

/// The value of one setting.
#[derive(Debug, Clone)]
pub(super) struct RawValue {
    /// The value; `None` if it is a list or a table, which no setting accepts.
    pub(super) text: Option<String>,
    /// The key in the file, if the value is from there.
    pub(super) file_key: Option<String>,
}

/// The values of all settings. Reading continues after an invalid value, so that all errors are
/// reported together. It also records each setting that is read: those are all settings.
#[derive(Debug, Default)]
pub(super) struct Values {
    by_variable: BTreeMap<String, RawValue>,
    keys: Vec<SettingKey>,
    invalid: Vec<InvalidSetting>,
    misnamed: Vec<MisnamedVariable>,
}

impl Values {
    /// Creates values by variable, with the settings that are already known to be invalid, and the
    /// variables that are misnamed.
    pub(super) fn new(
        values: BTreeMap<String, RawValue>,
        invalid: Vec<InvalidSetting>,
        misnamed: Vec<MisnamedVariable>,
    ) -> Self {
        Self {
            by_variable: values,
            keys: Vec::new(),
            invalid,
            misnamed,
        }
    }

    /// Returns the misnamed variables.
    pub(super) fn misnamed(&self) -> &[MisnamedVariable] {
        &self.misnamed
    }

    /// Reads a setting with a fixed default. `expected` completes "… must be".
    pub(super) fn read<T: Display>(
        &mut self,
        variable: &'static str,
        default: T,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> T {
        self.keys.push(SettingKey {
            variable,
            default: Some(default.to_string()),
        });
        self.parsed(variable, expected, parse).unwrap_or(default)
    }

    /// Reads an optional setting. `expected` completes "… must be".
    pub(super) fn read_optional<T>(
        &mut self,
        variable: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.keys.push(SettingKey {
            variable,
            default: None,
        });
        self.parsed(variable, expected, parse)
    }

    /// Reads a whole number with a fixed default.
    pub(super) fn read_number<N: FromStr + PartialOrd + Display>(
        &mut self,
        variable: &'static str,
        default: N,
        range: RangeInclusive<N>,
    ) -> N {
        let expected = whole_number(&range);
        self.read(variable, default, &expected, number_in(range))
    }

    /// Reads an optional whole number.
    pub(super) fn read_optional_number<N: FromStr + PartialOrd + Display>(
        &mut self,
        variable: &'static str,
        range: RangeInclusive<N>,
    ) -> Option<N> {
        let expected = whole_number(&range);
        self.read_optional(variable, &expected, number_in(range))
    }

    /// Reads settings of which there can be any number, each under a name that the operator
    /// chooses. `keys` are all settings of such a name; `read` is called once for each name for
    /// which one is set.
    pub(super) fn read_named<T>(
        &mut self,
        keys: &[&'static str],
        mut read: impl FnMut(&mut NamedSettings<'_>) -> T,
    ) -> Vec<T> {
        self.keys.extend(keys.iter().map(|variable| SettingKey {
            variable,
            default: None,
        }));
        let names: BTreeSet<String> = self
            .by_variable
            .keys()
            .filter_map(|variable| keys.iter().find_map(|key| name_in_variable(key, variable)))
            .map(str::to_ascii_lowercase)
            .collect();
        let mut results = Vec::with_capacity(names.len());
        for name in names {
            results.push(read(&mut NamedSettings::new(self, name)));
        }
        results
    }

    /// Returns true if a setting is set.
    pub(super) fn is_set(&self, variable: &str) -> bool {
        self.by_variable.contains_key(variable)
    }

    /// Returns true if a setting is set under a name as engines and servers have it: in lower case.
    pub(super) fn is_set_for(&self, key: &str, name: &str) -> bool {
        let is_lower = !name.contains(|letter: char| letter.is_ascii_uppercase());
        is_lower && self.is_set(&variable_for(key, name))
    }

    /// Returns the variables of a setting that has a second name, under the first one, with their
    /// second names.
    pub(super) fn members(&self, key: &str, name: &str) -> Vec<(String, String)> {
        let is_named = |variable: &str| {
            name_in_variable(key, variable).is_some_and(|it| it.eq_ignore_ascii_case(name))
        };
        let variables = self.by_variable.keys().filter(|it| is_named(it));
        variables
            .filter_map(|it| Some((it.clone(), member_in_variable(key, it)?.to_owned())))
            .collect()
    }

    /// Returns all settings that were read.
    pub(super) fn into_keys(self) -> Vec<SettingKey> {
        self.keys
    }

    /// Returns all invalid settings.
    pub(super) fn into_invalid(self) -> Vec<InvalidSetting> {
        self.invalid
    }

    /// Parses a setting, if it is set.
    pub(super) fn parsed<T>(
        &mut self,
        variable: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let parsed = self
            .by_variable
            .get(variable)?
            .text
            .as_deref()
            .and_then(parse);
        if parsed.is_none() {
            self.reject(variable, expected);
        }
        parsed
    }

    /// Rejects a setting that is not set. `expected` completes "… must be set:".
    pub(super) fn require(&mut self, variable: &str, expected: &str) {
        if !self.is_set(variable) {
            self.reject(variable, &format!("set: {expected}"));
        }
    }

    /// Rejects a setting because of others. `expected` completes "… must be".
    pub(super) fn reject(&mut self, variable: &str, expected: &str) {
        self.invalid.push(InvalidSetting::BadValue {
            variable: variable.to_owned(),
            file_key: self.file_key(variable),
            expected: expected.to_owned(),
        });
    }

    /// Rejects a setting because `used_by`, such as "an engine", already has the name in it.
    pub(super) fn reject_name(&mut self, variable: &str, name: &str, used_by: &'static str) {
        self.invalid.push(InvalidSetting::NameInUse {
            variable: variable.to_owned(),
            file_key: self.file_key(variable),
            name: name.to_owned(),
            used_by,
        });
    }

    fn file_key(&self, variable: &str) -> Option<String> {
        self.by_variable.get(variable)?.file_key.clone()
    }
}

fn whole_number<N: Display>(range: &RangeInclusive<N>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

fn number_in<N: FromStr + PartialOrd>(range: RangeInclusive<N>) -> impl FnOnce(&str) -> Option<N> {
    move |text| text.parse().ok().filter(|number| range.contains(number))
}
