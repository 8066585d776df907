//! `cargo xtask compare-documents`: what one OpenAPI or AsyncAPI document says and another does
//! not, wherever it stands in their components.

mod resolved;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// The documents.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The document before the change
    old: PathBuf,
    /// The document after it
    new: PathBuf,
}

/// A kind of difference with the end of its place and both values, which often occurs at many places.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    kind: &'static str,
    member: String,
    values: String,
}

/// Prints the differences, and fails if something is lost or changed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let found = differences(&read(&options.old)?, &read(&options.new)?);
    for (difference, places) in &found {
        let Difference {
            kind,
            member,
            values,
        } = difference;
        let (count, first) = (places.len(), places.first().map_or("", String::as_str));
        println!("{kind} {count} × {member}: {values}\n    first at {first}");
    }
    let kept = found.keys().all(|difference| difference.kind == ADDED);
    println!("{} kinds of differences", found.len());
    ensure!(kept, "something is lost or changed");
    Ok(())
}

fn read(path: &Path) -> Result<Value> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let document =
        serde_json::from_str(&text).with_context(|| format!("no JSON: {}", path.display()))?;
    Ok(resolved::resolved(&document))
}

const ADDED: &str = "added";

type Differences = BTreeMap<Difference, Vec<String>>;

/// The differences of two resolved documents, with the places of each.
fn differences(old: &Value, new: &Value) -> Differences {
    let mut found = BTreeMap::new();
    compare(Some(old), Some(new), &mut Vec::new(), &mut found);
    found
}

fn compare(
    old: Option<&Value>,
    new: Option<&Value>,
    place: &mut Vec<String>,
    found: &mut Differences,
) {
    if old == new {
        return;
    }
    if let (Some(old), Some(new)) = (old, new) {
        let (old_parts, new_parts) = (parts(old), parts(new));
        if !old_parts.is_empty() && !new_parts.is_empty() {
            let keys: BTreeSet<&String> = old_parts.keys().chain(new_parts.keys()).collect();
            for key in keys {
                place.push(key.clone());
                compare(
                    old_parts.get(key).copied(),
                    new_parts.get(key).copied(),
                    place,
                    found,
                );
                place.pop();
            }
            return;
        }
    }
    let (kind, values) = match (old, new) {
        (Some(old), Some(new)) => ("changed", format!("{} → {}", short(old), short(new))),
        (Some(old), None) => ("lost", short(old)),
        (None, Some(new)) => (ADDED, short(new)),
        (None, None) => return,
    };
    let difference = Difference {
        kind,
        member: place[place.len().saturating_sub(2)..].join("."),
        values,
    };
    found.entry(difference).or_default().push(place.join(" "));
}

/// The members of an object or list.
fn parts(value: &Value) -> BTreeMap<String, &Value> {
    match value {
        Value::Object(members) => members.iter().map(|(key, it)| (key.clone(), it)).collect(),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(index, it)| (index.to_string(), it)).collect()
        }
        _ => BTreeMap::new(),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(old: &Value, new: &Value) -> Vec<(&'static str, String)> {
        let found = differences(&resolved::resolved(old), &resolved::resolved(new));
        let places = found.into_iter();
        places
            .flat_map(|(it, places)| places.into_iter().map(move |place| (it.kind, place)))
            .collect()
    }

    #[test]
    fn a_part_that_moves_into_components_is_no_difference() {
        let missing = json!({"description": "Missing.", "headers": {"Id": {"required": true}}});
        let old = json!({"paths": {"/a": {"get": {"responses": {"404": missing}}}}});
        let new = json!({
            "paths": {"/a": {"get": {"responses": {"404": {"$ref": "#/components/responses/Missing"}}}}},
            "x-response-headers": {"Id": {"$ref": "#/components/headers/Id"}},
            "components": {
                "responses": {"Missing": {"description": "Missing."}},
                "headers": {"Id": {"required": true}},
            },
        });
        assert_eq!(found(&old, &new), []);
    }

    #[test]
    fn an_object_in_two_parts_is_the_same_as_one() {
        let old = json!({"schema": {
            "type": "object", "required": ["type", "at"],
            "properties": {"at": {"type": "string"}, "type": {"const": "ended"}},
        }});
        let new = json!({
            "schema": {"allOf": [
                {"$ref": "#/components/schemas/Place"},
                {"type": "object", "required": ["type"], "properties": {"type": {"const": "ended"}}},
            ]},
            "components": {"schemas": {"Place": {
                "type": "object", "required": ["at"], "properties": {"at": {"type": "string"}},
            }}},
        });
        assert_eq!(found(&old, &new), []);
    }

    #[test]
    fn what_is_lost_changed_or_added_is_named_with_its_place() {
        let old = json!({"a": {"b": 1, "c": [1, 2]}});
        let new = json!({"a": {"b": 2, "d": true, "c": [1]}});
        let expected = [
            ("added", "a d".to_owned()),
            ("changed", "a b".to_owned()),
            ("lost", "a c 1".to_owned()),
        ];
        assert_eq!(found(&old, &new), expected);
    }
}
