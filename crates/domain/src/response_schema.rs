//! The JSON Schema that replies must satisfy.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{
    client_tool::{REFERENCES, fault_of_schema},
    tool_call::is_nested_deeper,
};

/// The maximum number of levels of a value that a schema describes.
pub const OUTPUT_LEVELS: usize = 64;
/// The maximum number of objects in a schema in which every reference is replaced by its target. A chain of
/// references that each stand twice would otherwise take forever to check.
const MAX_EXPANDED: usize = 4096;
/// The maximum number of its nested levels. The stack of a check is that of all of them, for each level of the
/// value.
const MAX_EXPANDED_LEVELS: usize = 64;
/// The maximum number of regular expressions, each of which takes memory.
const MAX_PATTERNS: usize = 64;
/// The only version of JSON Schema.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A JSON Schema (2020-12) that replies must satisfy. It is an object; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ResponseSchema(Arc<Value>);

impl ResponseSchema {
    /// Creates a schema that was not checked yet.
    pub fn new(members: Map<String, Value>) -> Self {
        Self(Arc::new(Value::Object(members)))
    }

    /// Returns the schema as JSON.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Returns whether a part of the schema refers to itself.
    pub fn is_recursive(&self) -> bool {
        let mut expansion = Expansion::new(&self.0);
        expansion.of(&self.0, 0).is_err() || expansion.is_recursive
    }

    /// Returns why the schema is not accepted, as far as its form tells. Whether its keywords have valid values
    /// is known once it is compiled.
    pub fn fault(&self) -> Option<&'static str> {
        if let Some(fault) = fault_of_schema(&self.0) {
            return Some(fault);
        }
        let dialect = self.0.get("$schema");
        if dialect.is_some_and(|it| it.as_str().map(|it| it.trim_end_matches('#')) != Some(DIALECT))
        {
            return Some("must be of JSON Schema 2020-12");
        }
        if has_own_base(&self.0, true) {
            return Some("must have no '$id' below its top level");
        }
        if patterns(&self.0) > MAX_PATTERNS {
            return Some("must have at most 64 patterns");
        }
        if has_nul(&self.0) {
            return Some("must not contain NUL characters");
        }
        match Expansion::new(&self.0).of(&self.0, 0) {
            Err(fault) => Some(fault),
            Ok(size) if size.objects > MAX_EXPANDED => Some(TOO_LARGE),
            Ok(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for ResponseSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::new)
    }
}

const TOO_LARGE: &str = "must be smaller once every reference is replaced by its target";
const TOO_DEEP: &str = "must be nested less deep once every reference is replaced by its target";

/// Returns whether references inside a part of the schema are relative to that part.
fn has_own_base(schema: &Value, is_top: bool) -> bool {
    match schema {
        Value::Object(members) => {
            let has_id = !is_top && members.get("$id").is_some_and(Value::is_string);
            has_id || members.values().any(|it| has_own_base(it, false))
        }
        Value::Array(items) => items.iter().any(|it| has_own_base(it, false)),
        _ => false,
    }
}

fn patterns(schema: &Value) -> usize {
    let own = match schema {
        Value::Object(members) => {
            let named = members.get("patternProperties").and_then(Value::as_object);
            let own = members.get("pattern").is_some_and(Value::is_string);
            usize::from(own) + named.map_or(0, Map::len)
        }
        _ => 0,
    };
    let inner: usize = match schema {
        Value::Object(members) => members.values().map(patterns).sum(),
        Value::Array(items) => items.iter().map(patterns).sum(),
        _ => 0,
    };
    own + inner
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains('\0') || has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The size of a part of a schema in which references are replaced by their targets.
#[derive(Clone, Copy, Default)]
struct Size {
    objects: usize,
    levels: usize,
}

/// Measures a schema in which references are replaced by their targets. A reference to a part that contains it
/// counts as one object: such parts are checked once for each value.
struct Expansion<'a> {
    root: &'a Value,
    /// The sizes of parts; `None` while a part is measured.
    sizes: HashMap<*const Value, Option<Size>>,
    is_recursive: bool,
}

impl<'a> Expansion<'a> {
    fn new(root: &'a Value) -> Self {
        Self {
            root,
            sizes: HashMap::new(),
            is_recursive: false,
        }
    }

    /// Measures a part that is `level` levels below the whole schema.
    fn of(&mut self, part: &'a Value, level: usize) -> Result<Size, &'static str> {
        let mut size = Size::default();
        match part {
            Value::Array(items) => self.add(&mut size, items, level)?,
            Value::Object(members) => match self.sizes.get(&std::ptr::from_ref(part)).copied() {
                Some(Some(known)) => size = known,
                Some(None) => {
                    self.is_recursive = true;
                    size.objects = 1;
                }
                None => {
                    self.sizes.insert(part, None);
                    self.add(&mut size, members.values(), level)?;
                    for name in REFERENCES {
                        if let Some(reference) = members.get(name).and_then(Value::as_str) {
                            let targets = self.targets(reference)?;
                            self.add(&mut size, targets, level)?;
                        }
                    }
                    size.objects = size.objects.saturating_add(1);
                    size.levels += 1;
                    self.sizes.insert(part, Some(size));
                }
            },
            _ => {}
        }
        if level + size.levels > MAX_EXPANDED_LEVELS {
            return Err(TOO_DEEP);
        }
        Ok(size)
    }

    fn add(
        &mut self,
        size: &mut Size,
        parts: impl IntoIterator<Item = &'a Value>,
        level: usize,
    ) -> Result<(), &'static str> {
        for part in parts {
            let part = self.of(part, level + 1)?;
            size.objects = size.objects.saturating_add(part.objects);
            size.levels = size.levels.max(part.levels);
        }
        Ok(())
    }

    /// Returns the parts that a reference can lead to.
    fn targets(&self, reference: &str) -> Result<Vec<&'a Value>, &'static str> {
        let fragment = reference.strip_prefix('#').unwrap_or(reference);
        let mut targets = Vec::new();
        if fragment.is_empty() || fragment.starts_with('/') {
            targets.extend(self.root.pointer(fragment));
        } else {
            add_anchored(self.root, fragment, &mut targets);
        }
        if targets.is_empty() {
            return Err("refers to a part that it does not have");
        }
        Ok(targets)
    }
}

fn add_anchored<'a>(part: &'a Value, anchor: &str, found: &mut Vec<&'a Value>) {
    match part {
        Value::Object(members) => {
            let names = ["$anchor", "$dynamicAnchor"];
            if names
                .iter()
                .any(|name| members.get(*name).is_some_and(|it| it == anchor))
            {
                found.push(part);
            }
            members
                .values()
                .for_each(|it| add_anchored(it, anchor, found));
        }
        Value::Array(items) => items.iter().for_each(|it| add_anchored(it, anchor, found)),
        _ => {}
    }
}

/// Returns whether a value is nested deeper than a schema can describe.
pub fn is_too_deep(output: &Value) -> bool {
    is_nested_deeper(output, OUTPUT_LEVELS)
}

/// Reads a member that may be null, and is absent without a value (`#[serde(deserialize_with)]`).
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The condition to omit a member that is false (`#[serde(skip_serializing_if)]`).
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde demands it")]
pub(crate) const fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(schema: Value) -> Option<&'static str> {
        serde_json::from_value::<ResponseSchema>(schema)
            .unwrap()
            .fault()
    }

    #[test]
    fn usual_schemas_are_accepted() {
        for schema in [
            json!({}),
            json!({"$schema": DIALECT, "$id": "https://example.org/a", "type": "array"}),
            json!({"properties": {"child": {"$ref": "#"}}, "$dynamicAnchor": "node"}),
            json!({"$ref": "#a", "$defs": {"x": {"$anchor": "a", "type": "string"}}}),
            json!({"properties": {"$id": {"type": "string"}}}),
        ] {
            assert_eq!(fault(schema.clone()), None, "{schema}");
        }
    }

    #[test]
    fn schemas_with_other_documents_dialects_or_dead_references_are_rejected() {
        for schema in [
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
            json!({"$ref": "https://example.org/a"}),
            json!({"$ref": "#/$defs/a"}),
            json!({"$dynamicRef": "#a"}),
            json!({"$defs": {"a": {"$id": "https://example.org/a"}}}),
            json!({"const": "a\u{0}"}),
        ] {
            assert!(fault(schema.clone()).is_some(), "{schema}");
        }
    }

    #[test]
    fn schemas_that_take_forever_to_check_are_rejected() {
        let part = |number: usize| {
            let next = json!({"$ref": format!("#/$defs/{}", number.saturating_sub(1))});
            let refers = number > 0;
            if refers {
                json!({"allOf": [next, next]})
            } else {
                json!({})
            }
        };
        let doubled = |levels: usize| {
            let parts: Map<_, _> = (0..=levels).map(|it| (it.to_string(), part(it))).collect();
            json!({"$ref": format!("#/$defs/{levels}"), "$defs": parts})
        };
        assert_eq!(fault(doubled(5)), None);
        assert_eq!(fault(doubled(15)), Some(TOO_LARGE));
        assert_eq!(fault(doubled(200)), Some(TOO_DEEP));
    }

    #[test]
    fn a_schema_is_an_object() {
        assert!(serde_json::from_value::<ResponseSchema>(json!(true)).is_err());
    }
}
