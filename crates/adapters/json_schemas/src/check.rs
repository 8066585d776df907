//! The check of one text.

use domain::{
    FaultCode, InputFault, ResponseSchema, json, large_integers::has_large_integer,
    response_schema::is_too_deep,
};
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// The maximum number of faults of an output.
const MAX_FAULTS: usize = 20;
/// The maximum length of a text all of whose faults are looked for: the library finds them all before it returns the
/// first.
const MAX_LISTED_BYTES: usize = 32 * 1024;
/// The maximum size in memory of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 512 * 1024;
/// The maximum number of characters of the explanation of a fault: it contains names of members.
const MAX_DETAIL: usize = 300;

/// Compiles a schema. Formats are checked. Patterns have no look-around and no back-references, so that they
/// run in linear time.
pub(crate) fn compile(schema: &ResponseSchema) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
        .build(schema.value())
}

/// Returns the value of a text that satisfies a schema.
pub(crate) fn check(schema: &ResponseSchema, text: &str) -> Result<Value, Vec<InputFault>> {
    let (value, found) = json::parse(text.as_bytes()).map_err(|error| {
        vec![fault(
            "",
            &format!("must be JSON and nothing else: {error}"),
        )]
    })?;
    if found.codes().any(|code| code == FaultCode::DuplicateMember) {
        // Parsers differ in the member that they take.
        return Err(vec![fault("", "has an object with the same member twice")]);
    }
    if has_large_integer(text) {
        // The caller would receive a different, rounded number.
        return Err(vec![fault("", "has an integer of more than 64 bits")]);
    }
    if is_too_deep(&value) {
        return Err(vec![fault("", "is nested too deeply")]);
    }
    let invalid = |_error| vec![fault("", "cannot be checked: the schema is invalid")];
    let validator = compile(schema).map_err(invalid)?;
    if validator.is_valid(&value) {
        return Ok(value);
    }
    if schema.is_recursive() {
        // Listing the faults could take exponentially long: unlike `is_valid`, it remembers nothing.
        return Err(vec![fault("", "does not satisfy the schema")]);
    }
    let described = |error: ValidationError<'_>| {
        let detail = error.masked().to_string();
        fault(error.instance_path().as_str(), &detail)
    };
    if text.len() > MAX_LISTED_BYTES {
        let first = validator.validate(&value).map_err(described);
        return Err(first.err().into_iter().collect());
    }
    let errors = validator.iter_errors(&value).take(MAX_FAULTS);
    Err(errors.map(described).collect())
}

/// Returns a fault of an output.
pub(crate) fn fault(pointer: &str, detail: &str) -> InputFault {
    let detail: String = detail.chars().take(MAX_DETAIL).collect();
    InputFault::new(pointer, FaultCode::Schema, detail)
}
