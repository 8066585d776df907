//! Checks the example file against the code and the compose file.

use std::{collections::BTreeSet, fs};

use api::settings::{Settings, keys};

use crate::fixture::{load, written};

fn in_repository(file: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    fs::read_to_string(format!("{root}/{file}")).expect("a file of the repository")
}

/// The settings in `.env.example`: each is commented out as `#NAME=default`, except those that
/// containers need.
fn documented() -> Vec<(String, String)> {
    in_repository(".env.example")
        .lines()
        .filter_map(|line| line.strip_prefix('#').unwrap_or(line).split_once('='))
        .filter(|(name, _)| is_variable(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn is_variable(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    !name.is_empty() && name.bytes().all(allowed)
}

/// Variables that only the compose file reads: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`.
fn read_by_compose_alone() -> BTreeSet<String> {
    let compose = in_repository("docker-compose.yml");
    let names = compose
        .split("${")
        .skip(1)
        .filter_map(|text| text.split(['}', ':']).next());
    let settings = keys();
    names
        .filter(|name| !settings.iter().any(|key| key.has(name)))
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn the_example_documents_every_setting_with_its_default() {
    let in_code: Vec<(String, String)> = keys()
        .into_iter()
        .map(|key| (written(key.variable), key.default.unwrap_or_default()))
        .collect();
    let of_compose = read_by_compose_alone();
    let mut documented = documented();
    documented.retain(|(name, _)| !of_compose.contains(name));
    assert_eq!(documented, in_code);
}

#[test]
fn the_example_documents_what_the_compose_file_reads() {
    let documented: BTreeSet<String> = documented().into_iter().map(|(name, _)| name).collect();
    let missing: Vec<_> = read_by_compose_alone()
        .into_iter()
        .filter(|name| !documented.contains(name))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn the_example_as_a_whole_changes_nothing() {
    let with_example = Settings::load(None, documented()).unwrap();
    assert_eq!(
        format!("{with_example:?}"),
        format!("{:?}", load(&[]).unwrap())
    );
}
