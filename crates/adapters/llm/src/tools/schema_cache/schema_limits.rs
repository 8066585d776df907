//! Limits on schemas of external tools. The validation library has none: deeply nested or chained
//! schemas would overflow the stack of any thread, and repeated references could exhaust the memory.

mod compiled_size;
mod copied_pattern;

use std::collections::BTreeSet;

use serde_json::Value;

use compiled_size::compiled_size;

/// The maximum number of bytes of a schema, as text.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// The maximum number of levels of a schema and of everything that it references, in total. It
/// bounds the recursion of the library for any chain of references.
const MAX_LEVELS: usize = 512;
/// The maximum size of the compiled schema. Each byte takes about 8 bytes of memory, and all take
/// 0.2 s of compilation without optimization.
const MAX_COMPILED_BYTES: usize = 512 * 1024;
/// The maximum number of patterns, including keys that are patterns.
const MAX_PATTERNS: usize = 64;
/// The maximum number of `unevaluatedItems` and `unevaluatedProperties`: each may double the time
/// of a check, without meeting the keyword that enforces its deadline.
const MAX_UNEVALUATED: usize = 8;

/// The reason that a schema is rejected.
pub(super) type RejectionReason = &'static str;

/// Keywords whose value is a schema; `items` may also be a list.
const SCHEMA_KEYWORDS: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas.
const SCHEMA_LIST_KEYWORDS: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords whose value maps names to schemas.
const SCHEMA_MAP_KEYWORDS: [&str; 6] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// The structure of an accepted schema.
#[derive(Debug)]
pub(super) struct SchemaStructure {
    /// The locations of all subschemas, as JSON pointers.
    pub(super) locations: BTreeSet<String>,
    /// The number of patterns that are compiled.
    pub(super) patterns: usize,
}

/// Checks the limits of a schema and of everything that it references.
pub(super) fn structure(schema: &Value) -> Result<SchemaStructure, RejectionReason> {
    if !schema.is_object() {
        return Err("it is not an object");
    }
    if schema.to_string().len() > MAX_SCHEMA_BYTES {
        return Err("it is larger than 64 KiB");
    }
    let mut walker = SchemaWalker {
        structure: SchemaStructure {
            locations: BTreeSet::new(),
            patterns: 0,
        },
        unevaluated: 0,
        targets: BTreeSet::new(),
        pending: vec![String::new()],
    };
    let mut levels = 0;
    while let Some(location) = walker.pending.pop() {
        let part = schema
            .pointer(&location)
            .ok_or("it references a definition that is missing")?;
        levels += walker.levels(part, &location)?;
        if levels > MAX_LEVELS {
            return Err("it is nested or chained by references too deeply");
        }
    }
    if walker.unevaluated > MAX_UNEVALUATED {
        return Err("it has over 8 `unevaluatedItems` and `unevaluatedProperties`");
    }
    let size = compiled_size(schema, &walker.targets)?;
    if size.bytes > MAX_COMPILED_BYTES {
        return Err(
            "it is larger than 512 KiB with the location of each subschema, once references \
             beside `unevaluatedItems` and `unevaluatedProperties` are expanded",
        );
    }
    walker.structure.patterns = walker
        .structure
        .patterns
        .saturating_add(size.copied_patterns);
    if walker.structure.patterns > MAX_PATTERNS {
        return Err("it has over 64 patterns");
    }
    Ok(walker.structure)
}

struct SchemaWalker {
    structure: SchemaStructure,
    unevaluated: usize,
    /// The targets of references.
    targets: BTreeSet<String>,
    /// The targets that were not visited yet.
    pending: Vec<String>,
}

impl SchemaWalker {
    /// Returns the number of levels below this location, without references. The JSON parser
    /// rejects texts that are too deep for this recursion.
    fn levels(&mut self, schema: &Value, location: &str) -> Result<usize, RejectionReason> {
        let Value::Object(members) = schema else {
            return Ok(1);
        };
        let is_new = self.structure.locations.insert(location.to_owned());
        let mut deepest = 0;
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => self.add_reference(reference)?,
                ("$dynamicRef" | "$recursiveRef", _) => {
                    return Err("it has a dynamic reference");
                }
                // References inside it would be resolved against it.
                ("$id" | "id", Value::String(_)) if !location.is_empty() => {
                    return Err("a schema inside it has an `$id` of its own");
                }
                ("pattern", _) if is_new => self.structure.patterns += 1,
                ("patternProperties", Value::Object(patterns)) if is_new => {
                    self.structure.patterns += patterns.len();
                }
                ("unevaluatedItems" | "unevaluatedProperties", _) if is_new => {
                    self.unevaluated += 1;
                }
                _ => {}
            }
            for (path, inner) in subschemas(keyword, value) {
                deepest = deepest.max(self.levels(inner, &format!("{location}/{path}"))?);
            }
        }
        Ok(deepest + 1)
    }

    fn add_reference(&mut self, reference: &str) -> Result<(), RejectionReason> {
        let location = pointer(reference).ok_or("it references something outside itself")?;
        if !location.is_empty() && self.targets.insert(location.clone()) {
            self.pending.push(location);
        }
        Ok(())
    }
}

/// Returns the schemas directly inside the value of a keyword, with their paths.
fn subschemas<'a>(keyword: &str, value: &'a Value) -> Vec<(String, &'a Value)> {
    match value {
        Value::Object(_) if SCHEMA_KEYWORDS.contains(&keyword) => vec![(keyword.to_owned(), value)],
        Value::Object(named) if SCHEMA_MAP_KEYWORDS.contains(&keyword) => {
            let path = |name: &str| name.replace('~', "~0").replace('/', "~1");
            let named = named.iter();
            named
                .map(|(name, inner)| (format!("{keyword}/{}", path(name)), inner))
                .collect()
        }
        Value::Array(list) if SCHEMA_LIST_KEYWORDS.contains(&keyword) => {
            let numbered = list.iter().enumerate();
            numbered
                .map(|(number, inner)| (format!("{keyword}/{number}"), inner))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the JSON pointer of a reference within the same schema.
fn pointer(reference: &str) -> Option<String> {
    let fragment = reference.strip_prefix('#')?;
    let is_pointer = fragment.is_empty() || fragment.starts_with('/');
    if !is_pointer {
        return None;
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut parts = fragment.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
