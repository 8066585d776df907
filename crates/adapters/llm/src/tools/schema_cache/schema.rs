//! A compiled schema of tool arguments.

use std::time::{Duration, Instant};

use domain::{sizes::ARGUMENT_LEVELS, tool_call::is_nested_deeper};
use jsonschema::{Keyword, PatternOptions, ValidationError, Validator, paths::Location};
use serde_json::{Map, Value, json};

use super::{
    deadline::{DeadlineExceeded, DeadlineKeyword, run_until},
    schema_limits::{SchemaStructure, structure},
};

/// The maximum number of bytes of one compiled pattern.
const MAX_PATTERN_BYTES: usize = 64 * 1024;
/// The maximum number of bytes of all compiled patterns of a schema.
const MAX_TOTAL_PATTERN_BYTES: usize = 512 * 1024;

/// The maximum time of a check.
const MAX_CHECK_TIME: Duration = Duration::from_secs(1);
/// The maximum time to describe a violation. Each alternative takes memory: about 40 MB in this
/// time.
const MAX_DESCRIPTION_TIME: Duration = Duration::from_millis(50);

/// The keyword that enforces the deadline of a check.
const DEADLINE: &str = "agent-service:deadline";

/// The maximum number of characters of the library's errors, which quote their input.
const MAX_REASON_CHARS: usize = 200;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema(Validator);

impl Schema {
    /// Compiles a schema of an external tool. Nothing is fetched for it, its patterns match in
    /// linear time, and compilation and checks are limited. The error is the reason that it is
    /// unusable.
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        let structure = structure(schema)?;
        let share = MAX_TOTAL_PATTERN_BYTES / structure.patterns.max(1);
        let patterns = PatternOptions::regex()
            .size_limit(share.min(MAX_PATTERN_BYTES))
            .dfa_size_limit(share.min(MAX_PATTERN_BYTES));
        let options = jsonschema::options()
            .with_pattern_options(patterns)
            .with_keyword(DEADLINE, deadline_keyword);
        match options.build(&with_deadlines(schema, &structure)) {
            Ok(validator) => Ok(Self(validator)),
            Err(error) => {
                let reason = error.to_string();
                Err(reason.chars().take(MAX_REASON_CHARS).collect())
            }
        }
    }

    /// Returns the first violation, in words that help the model to correct it.
    pub(super) fn first_violation(&self, arguments: &Value) -> Option<String> {
        if is_nested_deeper(arguments, ARGUMENT_LEVELS) {
            return Some("the arguments are nested too deeply".to_owned());
        }
        let deadline = Instant::now() + MAX_CHECK_TIME;
        match run_until(deadline, || self.0.is_valid(arguments)) {
            Ok(true) => return None,
            Ok(false) => {}
            Err(DeadlineExceeded) => {
                return Some("the arguments take too long to check".to_owned());
            }
        }
        // `validate` stops at the first violation; `iter_errors` would collect all, which may be
        // very many.
        let violation = run_until(Instant::now() + MAX_DESCRIPTION_TIME, || {
            let error = self.0.validate(arguments).err()?;
            let location = error.instance_path().to_string();
            let location = if location.is_empty() { "/" } else { &location };
            Some(format!("at {location}: {error}"))
        });
        violation.unwrap_or_else(|DeadlineExceeded| {
            Some("the arguments do not fit the schema".to_owned())
        })
    }
}

/// Returns the schema with the deadline keyword in all its subschemas. The library evaluates
/// unknown keywords last, but `allOf` before everything that continues after a violation, so every
/// path meets the keyword.
fn with_deadlines(schema: &Value, structure: &SchemaStructure) -> Value {
    let mut with_deadlines = schema.clone();
    for location in &structure.locations {
        if let Some(Value::Object(members)) = with_deadlines.pointer_mut(location)
            && let Value::Array(parts) = members.entry("allOf").or_insert_with(|| json!([]))
        {
            // Appended at the end, so that references to other items stay valid.
            parts.push(json!({ DEADLINE: null }));
        }
    }
    with_deadlines
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the signature is that of all keywords"
)]
fn deadline_keyword<'a>(
    _parent: &'a Map<String, Value>,
    _value: &'a Value,
    _location: Location,
) -> Result<Box<dyn Keyword>, ValidationError<'a>> {
    Ok(Box::new(DeadlineKeyword))
}

#[cfg(test)]
mod tests;
