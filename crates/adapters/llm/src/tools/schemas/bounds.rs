//! What a foreign schema may ask for. The library that checks by schemas bounds nothing itself: one
//! that is nested or refers deeply enough would take more stack than any thread has.

use std::collections::BTreeSet;

use serde_json::Value;

/// The most bytes of a schema, as text.
const SCHEMA_BYTES: usize = 64 * 1024;
/// The most levels of a schema and of all that it refers to, together: so deep the library goes at
/// most, whatever refers to what.
const MOST_LEVELS: usize = 512;
/// The most patterns, and keys that are patterns.
const MOST_PATTERNS: usize = 64;
/// The most `unevaluatedItems` and `unevaluatedProperties`: each may double the time of a check,
/// where no steps are counted.
const MOST_UNEVALUATED: usize = 8;

/// Why a schema is not checked by.
pub(super) type Refusal = &'static str;

/// Keywords that hold one schema; `items` may hold a list, too.
const WITH_A_SCHEMA: [&str; 12] = [
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
/// Keywords that hold a list of schemas.
const WITH_A_LIST: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords that hold schemas by name.
const WITH_NAMES: [&str; 6] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// What was found in a schema that may be checked by.
#[derive(Debug)]
pub(super) struct Survey {
    /// Where in it there are schemas, as JSON pointers.
    pub(super) places: BTreeSet<String>,
    /// How many patterns there are.
    pub(super) patterns: usize,
}

/// Looks through a schema and all that it refers to.
pub(super) fn survey(schema: &Value) -> Result<Survey, Refusal> {
    if !schema.is_object() {
        return Err("it is no object");
    }
    if schema.to_string().len() > SCHEMA_BYTES {
        return Err("it is larger than 64 KiB");
    }
    let mut surveyor = Surveyor {
        survey: Survey {
            places: BTreeSet::new(),
            patterns: 0,
        },
        unevaluated: 0,
        targets: BTreeSet::new(),
        ahead: vec![String::new()],
    };
    let mut levels = 0;
    while let Some(place) = surveyor.ahead.pop() {
        let part = schema.pointer(&place).ok_or("it refers to what it lacks")?;
        levels += surveyor.levels(part, &place)?;
        if levels > MOST_LEVELS {
            return Err("it is nested or refers too deeply");
        }
    }
    if surveyor.survey.patterns > MOST_PATTERNS {
        return Err("it has over 64 patterns");
    }
    if surveyor.unevaluated > MOST_UNEVALUATED {
        return Err("it tells over 8 times what holds for all that is not told of");
    }
    Ok(surveyor.survey)
}

struct Surveyor {
    survey: Survey,
    unevaluated: usize,
    /// What is referred to.
    targets: BTreeSet<String>,
    /// Of that, what was not looked at yet.
    ahead: Vec<String>,
}

impl Surveyor {
    /// How many levels there are below this place, without what is referred to. The parser lets no
    /// text pass that would be too deep for this.
    fn levels(&mut self, schema: &Value, place: &str) -> Result<usize, Refusal> {
        let Value::Object(members) = schema else {
            return Ok(1);
        };
        let is_new = self.survey.places.insert(place.to_owned());
        let mut deepest = 0;
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => self.refer(reference)?,
                ("$dynamicRef" | "$recursiveRef", _) => {
                    return Err("it refers to what is only known while it is used");
                }
                // There, references would begin anew.
                ("$id" | "id", Value::String(_)) if !place.is_empty() => {
                    return Err("it has a schema with an address of its own inside");
                }
                ("pattern", _) if is_new => self.survey.patterns += 1,
                ("patternProperties", Value::Object(patterns)) if is_new => {
                    self.survey.patterns += patterns.len();
                }
                ("unevaluatedItems" | "unevaluatedProperties", _) if is_new => {
                    self.unevaluated += 1;
                }
                _ => {}
            }
            for (path, inner) in inside(keyword, value) {
                deepest = deepest.max(self.levels(inner, &format!("{place}/{path}"))?);
            }
        }
        Ok(deepest + 1)
    }

    fn refer(&mut self, reference: &str) -> Result<(), Refusal> {
        let place = pointer(reference).ok_or("it refers to what is not in it")?;
        if !place.is_empty() && self.targets.insert(place.clone()) {
            self.ahead.push(place);
        }
        Ok(())
    }
}

/// The schemas that stand right in the value of a keyword, with the paths to them.
fn inside<'a>(keyword: &str, value: &'a Value) -> Vec<(String, &'a Value)> {
    match value {
        Value::Object(_) if WITH_A_SCHEMA.contains(&keyword) => vec![(keyword.to_owned(), value)],
        Value::Object(named) if WITH_NAMES.contains(&keyword) => {
            let path = |name: &str| name.replace('~', "~0").replace('/', "~1");
            let named = named.iter();
            named
                .map(|(name, inner)| (format!("{keyword}/{}", path(name)), inner))
                .collect()
        }
        Value::Array(list) if WITH_A_LIST.contains(&keyword) => {
            let numbered = list.iter().enumerate();
            numbered
                .map(|(number, inner)| (format!("{keyword}/{number}"), inner))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The JSON pointer that a reference into the same schema consists of.
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
