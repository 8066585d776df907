//! Where values come from: a TOML file, and over it the environment.

use std::{collections::BTreeMap, fs, path::Path};

use config::{Config, ConfigError, Environment, File, FileFormat, Map, Value, ValueKind};

use super::{
    error::{InvalidSetting, SettingsError},
    values::{Given, Key, Values},
};

/// Between the parts of a variable's name.
const SEPARATOR: &str = "__";
/// Between the parts of a key in the file.
const DOT: &str = ".";

/// Gathers what was given for `keys`. Of the environment only names in one of their sections are
/// looked at: the rest belongs to others.
pub(super) fn gather(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
    keys: &[Key],
) -> Result<Values, SettingsError> {
    let known = |variable: &str| keys.iter().any(|key| key.has(variable));
    let (ours, unknown): (Map<_, _>, Map<_, _>) = environment
        .into_iter()
        .filter(|(name, _)| known(name) || is_in_a_section(name, keys))
        .partition(|(name, _)| known(name));
    let mut invalid = given_twice(&ours);
    let unknown = unknown.into_keys().map(|name| InvalidSetting::Unknown {
        known: beside(&name, keys),
        name,
    });
    invalid.extend(unknown);
    let mut given = BTreeMap::new();
    for (key, value) in flat(overlaid(file, ours)?) {
        let variable = variable_of(&key);
        // In the file names are lower case, as in every TOML file; in variables upper case.
        if known(&variable) && key == key_of(&variable) {
            given.insert(variable, given_by(key, value));
        } else {
            invalid.push(InvalidSetting::Unknown {
                known: beside(&variable, keys)
                    .iter()
                    .map(|name| key_of(name))
                    .collect(),
                name: format!("{key} (in the file)"),
            });
        }
    }
    invalid.sort_by_key(ToString::to_string);
    Ok(Values::new(given, invalid))
}

/// The name in a variable may be in upper or lower case: both at once are one setting twice.
fn given_twice(ours: &Map<String, String>) -> Vec<InvalidSetting> {
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
            expected: "given in one spelling only".to_owned(),
        })
        .collect()
}

/// File and environment as one tree.
fn overlaid(file: Option<&Path>, ours: Map<String, String>) -> Result<Value, SettingsError> {
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
        // `NAME=` is how compose files and shells say "not set".
        .ignore_empty(true)
        .source(Some(ours));
    let tree = layers.add_source(variables).build();
    tree.map(|tree| tree.cache)
        .map_err(|error| SettingsError::Malformed {
            path: file.unwrap_or(Path::new("")).to_owned(),
            place: place_of(&error),
        })
}

/// Where the file is broken. The rest of the message quotes the line, which may hold a secret.
fn place_of(error: &ConfigError) -> String {
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

/// The leaves of the tree by their dotted keys.
fn flat(tree: Value) -> Vec<(String, Value)> {
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

fn given_by(key: String, value: Value) -> Given {
    // Only values from the environment know where they come from: the file is handed over as text.
    let from_file = value.origin().is_none();
    Given {
        // What was no Unicode in the environment came in with replacement characters.
        text: value
            .into_string()
            .ok()
            .filter(|text| !text.contains(char::REPLACEMENT_CHARACTER)),
        file_key: from_file.then_some(key),
    }
}

fn is_in_a_section(name: &str, keys: &[Key]) -> bool {
    name.split_once(SEPARATOR)
        .is_some_and(|(section, _)| sections(keys).any(|known| known == section))
}

fn sections(keys: &[Key]) -> impl Iterator<Item = &str> {
    keys.iter()
        .filter_map(|key| key.variable.split_once(SEPARATOR))
        .map(|(section, _)| section)
}

/// The settings of the section that a name is in; all of them when it is in none.
fn beside(name: &str, keys: &[Key]) -> Vec<String> {
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
