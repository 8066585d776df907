//! The size of a schema as the validation library compiles it.
//!
//! The library compiles the target of a reference once. But for each `unevaluatedItems` and
//! `unevaluatedProperties` it copies all schemas that apply to the same value. Wherever one of these
//! is a reference, the library copies the target, and compiles the subschemas of the copy again. The
//! size of all copies can be exponential in the size of the schema. It is infinite if a reference
//! leads back to a schema that is being copied.

use std::{
    collections::{BTreeSet, HashMap},
    ptr,
};

use serde_json::{Map, Value};

use super::{RejectionReason, copied_pattern::is_plain, pointer, subschemas};

/// Keywords whose schemas apply to the same value, and are copied.
const IN_PLACE_KEYWORDS: [&str; 7] = [
    "allOf",
    "anyOf",
    "dependentSchemas",
    "else",
    "if",
    "oneOf",
    "then",
];
/// Keywords whose schemas are compiled again for each copy.
const RECOMPILED_KEYWORDS: [&str; 9] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "if",
    "oneOf",
    "patternProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose schemas are compiled only if they are referenced.
const DEFINITION_KEYWORDS: [&str; 2] = ["$defs", "definitions"];

/// The size of compiled schemas.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CompiledSize {
    subschemas: usize,
    /// The length of their text, in which each subschema has its location: the library stores the
    /// location with each.
    pub(super) bytes: usize,
    /// The number of patterns in copies. Each is compiled again.
    pub(super) copied_patterns: usize,
}

impl CompiledSize {
    fn add(&mut self, other: Self) {
        self.subschemas = self.subschemas.saturating_add(other.subschemas);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.copied_patterns = self.copied_patterns.saturating_add(other.copied_patterns);
    }

    /// Returns the size of these schemas at locations that are longer by this path.
    fn below(self, path: &str) -> Self {
        let added = self.subschemas.saturating_mul(1 + path.len());
        Self {
            bytes: self.bytes.saturating_add(added),
            ..self
        }
    }
}

/// Returns the size of a schema with the targets of its references, without compiling it.
pub(super) fn compiled_size(
    schema: &Value,
    targets: &BTreeSet<String>,
) -> Result<CompiledSize, RejectionReason> {
    let mut calculator = SizeCalculator {
        schema,
        compiled: HashMap::new(),
        copied: HashMap::new(),
    };
    let mut size = calculator.compiled(schema)?;
    for target in targets {
        if let Some(part) = schema.pointer(target) {
            size.add(calculator.compiled(part)?.below(target));
        }
    }
    Ok(size)
}

/// Calculates the size of each part once.
struct SizeCalculator<'a> {
    schema: &'a Value,
    compiled: HashMap<*const Value, CompiledSize>,
    /// The sizes of copies; `None` while one is being calculated.
    copied: HashMap<*const Value, Option<CompiledSize>>,
}

impl<'a> SizeCalculator<'a> {
    /// Returns the size of a part that is compiled once, without the targets of its references.
    fn compiled(&mut self, part: &'a Value) -> Result<CompiledSize, RejectionReason> {
        if let Some(size) = self.compiled.get(&ptr::from_ref(part)) {
            return Ok(*size);
        }
        let Value::Object(members) = part else {
            return Ok(CompiledSize {
                subschemas: 1,
                bytes: part.to_string().len(),
                copied_patterns: 0,
            });
        };
        let mut size = own_size(members);
        for (keyword, value) in members {
            if matches!(
                keyword.as_str(),
                "unevaluatedItems" | "unevaluatedProperties"
            ) {
                size.add(self.copied(part)?);
            }
            if !DEFINITION_KEYWORDS.contains(&keyword.as_str()) {
                for (path, inner) in subschemas(keyword, value) {
                    size.add(self.compiled(inner)?.below(&path));
                }
            }
        }
        self.compiled.insert(part, size);
        Ok(size)
    }

    /// Returns the size of a copy of a part, with the copied targets of its references.
    fn copied(&mut self, part: &'a Value) -> Result<CompiledSize, RejectionReason> {
        let Value::Object(members) = part else {
            return Ok(CompiledSize::default());
        };
        match self.copied.insert(part, None) {
            Some(Some(size)) => {
                self.copied.insert(part, Some(size));
                return Ok(size);
            }
            Some(None) => {
                return Err(
                    "a schema beside `unevaluatedItems` or `unevaluatedProperties` contains itself",
                );
            }
            None => {}
        }
        let mut size = own_size(members);
        for (keyword, value) in members {
            size.add(self.copied_by(keyword, value)?);
        }
        self.copied.insert(part, Some(size));
        Ok(size)
    }

    /// Returns the size of what a copy contains of one of its members.
    fn copied_by(
        &mut self,
        keyword: &str,
        value: &'a Value,
    ) -> Result<CompiledSize, RejectionReason> {
        if let ("$ref", Value::String(reference)) = (keyword, value) {
            let target = pointer(reference).and_then(|target| self.schema.pointer(&target));
            return target.map_or(Ok(CompiledSize::default()), |target| self.copied(target));
        }
        let mut size = CompiledSize::default();
        for (path, inner) in subschemas(keyword, value) {
            if RECOMPILED_KEYWORDS.contains(&keyword) {
                size.add(self.compiled(inner)?.below(&path));
            }
            if IN_PLACE_KEYWORDS.contains(&keyword) {
                size.add(self.copied(inner)?.below(&path));
            }
        }
        if let ("patternProperties", Value::Object(patterns)) = (keyword, value) {
            if !patterns.keys().all(|pattern| is_plain(pattern)) {
                return Err(
                    "a pattern beside `unevaluatedItems` or `unevaluatedProperties` has \
                     options, word boundaries or possessive repetitions",
                );
            }
            size.copied_patterns = size.copied_patterns.saturating_add(patterns.len());
        }
        Ok(size)
    }
}

/// Returns the size of a schema without its subschemas.
fn own_size(members: &Map<String, Value>) -> CompiledSize {
    let text = |(keyword, value): (&String, &Value)| {
        let inner = subschemas(keyword, value);
        let is_definition = DEFINITION_KEYWORDS.contains(&keyword.as_str());
        keyword.len()
            + if inner.is_empty() || is_definition {
                value.to_string().len()
            } else {
                inner.iter().map(|(path, _)| path.len()).sum()
            }
    };
    CompiledSize {
        subschemas: 1,
        bytes: members.iter().map(text).sum(),
        copied_patterns: 0,
    }
}
