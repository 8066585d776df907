//! What was given for each setting, as text, and how sections read it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    ops::RangeInclusive,
    str::FromStr,
};

use super::error::InvalidSetting;

/// Stands in a variable for a name that the operator chooses, where settings can be given for any
/// number of things of a kind.
const PLACE: &str = "<ID>";
/// The longest such name.
const LONGEST_NAME: usize = 64;

/// One setting, for whoever lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its variable, by which it is known everywhere; `<ID>` in it stands for a name that the
    /// operator chooses.
    pub variable: &'static str,
    /// What holds when it is not set, as it would be written; `None` when that is no fixed value.
    pub default: Option<String>,
}

impl Key {
    /// Whether a variable is this setting's.
    pub fn has(&self, variable: &str) -> bool {
        self.variable == variable || chosen_name(self.variable, variable).is_some()
    }
}

/// The name that the operator chose, when `variable` has the form of `pattern`: 1 to 64 letters,
/// digits, `-` and single `_`.
fn chosen_name<'a>(pattern: &str, variable: &'a str) -> Option<&'a str> {
    let (before, behind) = pattern.split_once(PLACE)?;
    let name = variable.strip_prefix(before)?.strip_suffix(behind)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_good = (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(allowed)
        && !name.contains("__");
    is_good.then_some(name)
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

    /// Settings that can be given for any number of things, each under a name that the operator
    /// chooses. `keys` are all of them; `read` is called once for each name that one of them was
    /// given for.
    pub(super) fn read_named<T>(
        &mut self,
        keys: &[&'static str],
        mut read: impl FnMut(&mut Named<'_>) -> T,
    ) -> Vec<T> {
        self.keys.extend(keys.iter().map(|variable| Key {
            variable,
            default: None,
        }));
        let names: BTreeSet<String> = self
            .given
            .keys()
            .filter_map(|variable| keys.iter().find_map(|key| chosen_name(key, variable)))
            .map(str::to_ascii_lowercase)
            .collect();
        let mut things = Vec::with_capacity(names.len());
        for name in names {
            things.push(read(&mut Named { values: self, name }));
        }
        things
    }

    /// Whether there is any value for a setting.
    pub(super) fn is_given(&self, variable: &str) -> bool {
        self.given.contains_key(variable)
    }

    /// Whether there is any value for a setting under a name as engines and servers bear it: in
    /// lower case.
    pub(super) fn is_given_under(&self, key: &str, name: &str) -> bool {
        let is_lower = !name.contains(|letter: char| letter.is_ascii_uppercase());
        is_lower && self.is_given(&under(key, name))
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
        variable: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let parsed = self.given.get(variable)?.text.as_deref().and_then(parse);
        if parsed.is_none() {
            self.refuse(variable, expected);
        }
        parsed
    }

    /// Refuses a setting that has no value. `expected` completes "… must be given:".
    pub(super) fn require(&mut self, variable: &str, expected: &str) {
        if !self.is_given(variable) {
            self.refuse(variable, &format!("given: {expected}"));
        }
    }

    /// Refuses a setting for what others say. `expected` completes "… must be".
    pub(super) fn refuse(&mut self, variable: &str, expected: &str) {
        let given = self.given.get(variable);
        self.invalid.push(InvalidSetting::BadValue {
            variable: variable.to_owned(),
            file_key: given.and_then(|given| given.file_key.clone()),
            expected: expected.to_owned(),
        });
    }
}

/// The settings under one name that the operator chose.
pub(super) struct Named<'a> {
    values: &'a mut Values,
    name: String,
}

impl Named<'_> {
    /// The name, in lower case.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A setting that may be absent. `expected` completes "… must be".
    pub(super) fn read_optional<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.values.parsed(&self.variable(key), expected, parse)
    }

    /// A setting that must be there.
    pub(super) fn read_required<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.values.require(&self.variable(key), expected);
        self.read_optional(key, expected, parse)
    }

    /// Whether there is any value for a setting.
    pub(super) fn is_given(&self, key: &'static str) -> bool {
        self.values.is_given(&self.variable(key))
    }

    /// Refuses a setting for what others say. `expected` completes "… must be".
    pub(super) fn refuse(&mut self, key: &'static str, expected: &str) {
        self.values.refuse(&self.variable(key), expected);
    }

    fn variable(&self, key: &'static str) -> String {
        under(key, &self.name)
    }
}

/// The variable of a setting under a name that the operator chose.
fn under(key: &str, name: &str) -> String {
    key.replace(PLACE, &name.to_ascii_uppercase())
}

fn whole_number<N: Display>(range: &RangeInclusive<N>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

fn number_in<N: FromStr + PartialOrd>(range: RangeInclusive<N>) -> impl FnOnce(&str) -> Option<N> {
    move |text| text.parse().ok().filter(|number| range.contains(number))
}
