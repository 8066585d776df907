//! Faults of `oneOf` and `anyOf`: the faults of the alternative that was probably meant, instead of
//! "no alternative matches".

use domain::{FaultCode, Faults, InputFault};
use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use serde_json::Value;

use super::error_mapping::{expected_types, map_error, member, type_names};

type Alternative = Vec<ValidationError<'static>>;

/// Adds the faults of a value that matches no alternative. Alternatives for other types are
/// ignored; of the rest, the one with the fewest errors was probably meant.
pub(super) fn no_alternative_matches(
    alternatives: &[Alternative],
    pointer: &str,
    schema: &Value,
    faults: &mut Faults,
) {
    let meant = alternatives
        .iter()
        .filter(|errors| unmet_types(errors, pointer).is_none());
    let Some(closest) = meant.clone().min_by_key(|errors| errors.len()) else {
        let mut types: Vec<&str> = Vec::new();
        for name in alternatives
            .iter()
            .filter_map(|errors| unmet_types(errors, pointer))
            .flatten()
        {
            if !types.contains(&name) {
                types.push(name);
            }
        }
        faults.push(InputFault::new(
            pointer,
            FaultCode::WrongType,
            expected_types(&types),
        ));
        return;
    };
    let missing: Option<Vec<&str>> = meant.map(|errors| only_missing(errors, pointer)).collect();
    match missing.as_deref() {
        Some([first, _, ..]) => faults.push(InputFault::new(
            member(pointer, first),
            FaultCode::Required,
            either(missing.as_deref().unwrap_or_default()),
        )),
        _ => closest
            .iter()
            .for_each(|error| map_error(error, schema, faults)),
    }
}

/// Adds the fault of a value that matches several alternatives of `oneOf`. If each alternative
/// requires a member of its own, the pointer leads to the last of these members.
pub(super) fn several_alternatives_match(
    schema_path: &str,
    pointer: &str,
    schema: &Value,
    faults: &mut Faults,
) {
    let alternatives = schema.pointer(schema_path).and_then(Value::as_array);
    let required: Vec<&str> = alternatives
        .into_iter()
        .flatten()
        .filter_map(|alternative| alternative.pointer("/required/0")?.as_str())
        .collect();
    let fault = match required.last() {
        Some(last) => InputFault::new(
            member(pointer, last),
            FaultCode::NotCombinable,
            format!("only {}", either(&required)),
        ),
        None => InputFault::new(
            pointer,
            FaultCode::NotCombinable,
            "matches more than one alternative",
        ),
    };
    faults.push(fault);
}

/// Returns the types that the alternative requires, if the value at `pointer` has none of them.
fn unmet_types(errors: &Alternative, pointer: &str) -> Option<Vec<&'static str>> {
    errors.iter().find_map(|error| match error.kind() {
        Kind::Type { kind } if error.instance_path().as_str() == pointer => Some(type_names(kind)),
        _ => None,
    })
}

/// Returns the required member whose absence is the only error of the alternative.
fn only_missing<'a>(errors: &'a Alternative, pointer: &str) -> Option<&'a str> {
    match errors.as_slice() {
        [error] if error.instance_path().as_str() == pointer => match error.kind() {
            Kind::Required { property } => property.as_str(),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a text such as "one of 'pattern' and 'keywords'".
fn either(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!("one of {}", names.join(" and "))
}
