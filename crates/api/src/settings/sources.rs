//! The sources of values: a TOML file, and the environment.

use std::{collections::BTreeMap, fs, path::Path};

use config::{Config, ConfigError, Environment, File, FileFormat, Map, Value, ValueKind};

use super::{
    error::{InvalidSetting, SettingsError},
    key::{MisnamedVariable, SettingKey},
    secret_files::{read_files, secret_of},
    server::PORT,
    values::{RawValue, Values},
};

/// The separator in the name of a variable.
const SEPARATOR: &str = "__";
/// The separator in a key of the file.
const DOT: &str = ".";

/// Collects the values for `keys`. Only variables in a section of `keys` are considered; all others
/// belong to other programs.
pub(super) fn gather(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
    keys: &[SettingKey],
) -> Result<Values, SettingsError> {
    let is_key = |variable: &str| keys.iter().any(|key| key.has(variable));
    let known = |variable: &str| is_key(variable) || secret_of(variable).is_some();
    let environment: Vec<_> = environment.into_iter().collect();
    let set = environment.iter().filter(|(_, value)| !value.is_empty());
    let misnamed: Vec<_> = set.filter_map(|(name, _)| misnamed(name, keys)).collect();
    let (ours, unknown): (Map<_, _>, Map<_, _>) = environment
        .into_iter()
        .filter(|(name, _)| known(name) || is_in_a_section(name, keys))
        .partition(|(name, _)| known(name));
    let mut invalid = duplicate_spellings(&ours);
    let unknown = unknown.into_keys().map(|name| InvalidSetting::Unknown {
        known: settings_in_section_of(&name, keys),
        name,
    });
    invalid.extend(unknown);
    let mut values = BTreeMap::new();
    for (key, value) in flatten(merge(file, ours)?) {
        let variable = variable_of(&key);
        // Names are lower case in the file, as usual for TOML, and upper case in variables.
        if known(&variable) && key == key_of(&variable) {
            values.insert(variable, raw_value(key, value));
        } else {
            invalid.push(InvalidSetting::Unknown {
                known: settings_in_section_of(&variable, keys)
                    .iter()
                    .map(|name| key_of(name))
                    .collect(),
                name: format!("{key} (in the file)"),
            });
        }
    }
    read_files(&mut values, &mut invalid);
    invalid.sort_by_key(ToString::to_string);
    // If the right variable is set too, the other one is for another program.
    let is_unset = |it: &MisnamedVariable| !values.contains_key(it.meant);
    let misnamed = misnamed.into_iter().filter(is_unset).collect();
    Ok(Values::new(values, invalid, misnamed))
}

/// Returns the setting that a variable was probably meant for: with one `_` for `__`, or `PORT`, as
/// many platforms set it.
fn misnamed(name: &str, keys: &[SettingKey]) -> Option<MisnamedVariable> {
    let is_meant = |key: &&SettingKey| {
        let written = key.variable.replace(SEPARATOR, "_");
        let named = name.strip_suffix("_FILE").unwrap_or(name);
        key.variable != written && written == named || key.variable == PORT && name == "PORT"
    };
    let key = keys.iter().find(is_meant)?;
    Some(MisnamedVariable {
        name: name.to_owned(),
        meant: key.variable,
    })
}

/// Returns settings that occur in several spellings: a name that the operator chooses may be in
/// upper or lower case.
fn duplicate_spellings(ours: &Map<String, String>) -> Vec<InvalidSetting> {
    let mut spellings: BTreeMap<String, usize> = BTreeMap::new();
    for name in ours.keys() {
        *spellings.entry(name.to_uppercase()).or_default() += 1;
    }
    spellings
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .map(|(variable, _)| InvalidSetting::BadValue {
            variable,
            file_key: None,
            expected: "set in one spelling only".to_owned(),
        })
        .collect()
}

/// Merges file and environment into one tree.
fn merge(file: Option<&Path>, ours: Map<String, String>) -> Result<Value, SettingsError> {
    let mut layers = Config::builder();
    if let Some(path) = file {
        let text = fs::read_to_string(path).map_err(|source| SettingsError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        layers = layers.add_source(File::from_str(&text, FileFormat::Toml));
    }
    let variables = Environment::default()
        .separator(SEPARATOR)
        // In compose files and shells, `NAME=` means "not set".
        .ignore_empty(true)
        .source(Some(ours));
    let tree = layers.add_source(variables).build();
    tree.map(|tree| tree.cache)
        .map_err(|error| SettingsError::Malformed {
            path: file.unwrap_or(Path::new("")).to_owned(),
            position: error_position(&error),
        })
}

/// Returns the position of a syntax error. The rest of the message quotes the line, which may
/// contain a secret.
fn error_position(error: &ConfigError) -> String {
    let message = match error {
        ConfigError::FileParse { cause, .. } => cause.to_string(),
        _ => String::new(),
    };
    let first = message.lines().next().unwrap_or_default();
    first
        .strip_prefix("TOML parse error")
        .unwrap_or_default()
        .to_owned()
}

/// Returns the leaves of the tree by their dotted keys.
fn flatten(tree: Value) -> Vec<(String, Value)> {
    let mut leaves = Vec::new();
    let mut open = vec![(String::new(), tree)];
    while let Some((key, value)) = open.pop() {
        let ValueKind::Table(table) = value.kind else {
            leaves.push((key, value));
            continue;
        };
        open.extend(table.into_iter().map(|(name, value)| {
            let dot = if key.is_empty() { "" } else { DOT };
            (format!("{key}{dot}{name}"), value)
        }));
    }
    leaves
}

fn raw_value(key: String, value: Value) -> RawValue {
    // Only values from the environment have an origin, because the file is passed as text.
    let from_file = value.origin().is_none();
    RawValue {
        // Invalid Unicode in the environment was replaced by replacement characters.
        text: value
            .into_string()
            .ok()
            .filter(|text| !text.contains(char::REPLACEMENT_CHARACTER)),
        file_key: from_file.then_some(key),
    }
}

fn is_in_a_section(name: &str, keys: &[SettingKey]) -> bool {
    name.split_once(SEPARATOR)
        .is_some_and(|(section, _)| sections(keys).any(|known| known == section))
}

fn sections(keys: &[SettingKey]) -> impl Iterator<Item = &str> {
    keys.iter()
        .filter_map(|key| key.variable.split_once(SEPARATOR))
        .map(|(section, _)| section)
}

/// Returns the settings in the section of a name, or all settings if there are none.
fn settings_in_section_of(name: &str, keys: &[SettingKey]) -> Vec<String> {
    let section = name.split_once(SEPARATOR).map(|(section, _)| section);
    let variables = keys.iter().map(|key| key.variable.to_owned());
    let neighbours: Vec<_> = variables
        .clone()
        .filter(|variable| variable.split_once(SEPARATOR).map(|(section, _)| section) == section)
        .collect();
    if section.is_none() || neighbours.is_empty() {
        return variables.collect();
    }
    neighbours
}

fn variable_of(key: &str) -> String {
    key.to_uppercase().replace(DOT, SEPARATOR)
}

fn key_of(variable: &str) -> String {
    variable.to_lowercase().replace(SEPARATOR, DOT)
}
