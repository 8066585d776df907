//! Faults of `oneOf` and `anyOf`: not "nothing fits", but what is wrong with the one alternative
//! that was meant.

use domain::{Fault, FaultCode};
use jsonschema::{ValidationError, error::ValidationErrorKind as Kind};
use serde_json::Value;

use super::{
    explain::{explain, member, must_be, type_names},
    faults::Faults,
};

type Alternative = Vec<ValidationError<'static>>;

/// No alternative fits the value at `place`. Those for another type than the value has were not
/// meant; of the others, the one with the fewest faults was.
pub(super) fn none_fits(
    alternatives: &[Alternative],
    place: &str,
    schema: &Value,
    faults: &mut Faults,
) {
    let meant = alternatives
        .iter()
        .filter(|errors| mistyped(errors, place).is_none());
    let Some(closest) = meant.clone().min_by_key(|errors| errors.len()) else {
        let mut types: Vec<&str> = Vec::new();
        for name in alternatives
            .iter()
            .filter_map(|errors| mistyped(errors, place))
            .flatten()
        {
            if !types.contains(&name) {
                types.push(name);
            }
        }
        faults.push(Fault::new(place, FaultCode::WrongType, must_be(&types)));
        return;
    };
    let missing: Option<Vec<&str>> = meant.map(|errors| only_missing(errors, place)).collect();
    match missing.as_deref() {
        Some([first, _, ..]) => faults.push(Fault::new(
            member(place, first),
            FaultCode::Required,
            either(missing.as_deref().unwrap_or_default()),
        )),
        _ => closest
            .iter()
            .for_each(|error| explain(error, schema, faults)),
    }
}

/// Several alternatives fit though only one may. Where each of them asks for a member of its own,
/// the fault is the last of these members.
pub(super) fn several_fit(schema_path: &str, place: &str, schema: &Value, faults: &mut Faults) {
    let alternatives = schema.pointer(schema_path).and_then(Value::as_array);
    let required: Vec<&str> = alternatives
        .into_iter()
        .flatten()
        .filter_map(|alternative| alternative.pointer("/required/0")?.as_str())
        .collect();
    let fault = match required.last() {
        Some(last) => Fault::new(
            member(place, last),
            FaultCode::NotCombinable,
            format!("only {}", either(&required)),
        ),
        None => Fault::new(place, FaultCode::NotCombinable, "fits more than one form"),
    };
    faults.push(fault);
}

/// The types that the alternative asks for, if the value at `place` has none of them.
fn mistyped(errors: &Alternative, place: &str) -> Option<Vec<&'static str>> {
    errors.iter().find_map(|error| match error.kind() {
        Kind::Type { kind } if error.instance_path().as_str() == place => Some(type_names(kind)),
        _ => None,
    })
}

/// The member that alone keeps the alternative from fitting.
fn only_missing<'a>(errors: &'a Alternative, place: &str) -> Option<&'a str> {
    match errors.as_slice() {
        [error] if error.instance_path().as_str() == place => match error.kind() {
            Kind::Required { property } => property.as_str(),
            _ => None,
        },
        _ => None,
    }
}

/// "one of 'pattern' and 'keywords'".
fn either(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!("one of {}", names.join(" and "))
}
