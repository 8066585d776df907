//! The variables of settings.

/// The placeholder in a variable for a name that the operator chooses, for settings of which there
/// can be any number.
const ID_PLACEHOLDER: &str = "<ID>";
/// The placeholder at the end of a variable for a second name, for settings of which there can be any
/// number under the first one.
const MEMBER_PLACEHOLDER: &str = "<HEADER>";
/// The maximum length of either name.
const MAX_NAME_LENGTH: usize = 64;

/// One setting, for listings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingKey {
    /// Its variable, which is its name everywhere; `<ID>` and `<HEADER>` in it are placeholders for
    /// names that the operator chooses.
    pub variable: &'static str,
    /// Its default, as it would be written; `None` if it is not a fixed value.
    pub default: Option<String>,
}

/// A variable that is no setting, but has nearly the name of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MisnamedVariable {
    /// The variable.
    pub name: String,
    /// The setting's variable.
    pub meant: &'static str,
}

impl std::fmt::Display for MisnamedVariable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, meant } = self;
        write!(formatter, "{name} is ignored; the setting is {meant}")
    }
}

impl SettingKey {
    /// Returns true if a variable belongs to this setting.
    pub fn has(&self, variable: &str) -> bool {
        is_variable_of(self.variable, variable)
    }
}

/// Returns true if a variable belongs to the setting `key`, which may contain a placeholder.
pub(super) fn is_variable_of(key: &str, variable: &str) -> bool {
    key == variable || name_in_variable(key, variable).is_some()
}

/// Returns the chosen name if `variable` matches `pattern`: 1 to 64 letters, digits, `-` and single
/// `_`.
pub(super) fn name_in_variable<'a>(pattern: &str, variable: &'a str) -> Option<&'a str> {
    names_in_variable(pattern, variable).map(|(name, _)| name)
}

/// Returns the second name if `variable` matches `pattern`, which has one.
pub(super) fn member_in_variable<'a>(pattern: &str, variable: &'a str) -> Option<&'a str> {
    names_in_variable(pattern, variable)?.1
}

fn names_in_variable<'a>(pattern: &str, variable: &'a str) -> Option<(&'a str, Option<&'a str>)> {
    let (before, behind) = pattern.split_once(ID_PLACEHOLDER)?;
    let rest = variable.strip_prefix(before)?;
    let (name, member) = match behind.strip_suffix(MEMBER_PLACEHOLDER) {
        Some(between) => {
            let (name, member) = rest.split_once(between)?;
            (name, Some(member))
        }
        None => (rest.strip_suffix(behind)?, None),
    };
    let is_valid = is_name(name) && member.is_none_or(is_name);
    is_valid.then_some((name, member))
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=MAX_NAME_LENGTH).contains(&text.len()) && text.bytes().all(allowed) && !text.contains("__")
}

/// Returns the variable of a setting under a chosen name.
pub(super) fn variable_for(key: &str, name: &str) -> String {
    key.replace(ID_PLACEHOLDER, &name.to_ascii_uppercase())
}
