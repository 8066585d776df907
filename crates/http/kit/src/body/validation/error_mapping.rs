//! Converts errors of the validator into faults.
//!
//! Messages of the validator quote the value; those of this service never do. They contain the
//! limit instead, and every pointer leads to the very member that is wrong, missing or unknown.

use std::collections::HashSet;

use domain::{FaultCode, Faults, InputFault, allowed_origin, config, fault, id, text, web_address};
use jsonschema::{
    JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use super::one_of;
use crate::body::CHANNEL_PATTERN;

/// Adds the faults for `error`. `schema` is the whole schema that was used.
pub(in crate::body) fn map_error(error: &ValidationError<'_>, schema: &Value, faults: &mut Faults) {
    if faults.is_full() {
        return;
    }
    let pointer_to_value = error.instance_path().as_str();
    match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            faults.push(InputFault::new(
                member(pointer_to_value, name),
                FaultCode::Required,
                "is required",
            ));
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            for name in unexpected {
                let pointer = member(pointer_to_value, name);
                let detail = "unknown member";
                faults.push(InputFault::new(pointer, FaultCode::UnknownMember, detail));
            }
        }
        Kind::PropertyNames { error: inner } => {
            let pointer = member(
                pointer_to_value,
                inner.instance().as_str().unwrap_or_default(),
            );
            let (code, detail) = code_and_detail(inner.kind());
            faults.push(InputFault::new(
                pointer,
                code,
                format!("the name of the member: {detail}"),
            ));
        }
        Kind::UniqueItems => report_duplicates(error.instance(), pointer_to_value, faults),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            one_of::no_alternative_matches(context, pointer_to_value, schema, faults);
        }
        Kind::OneOfMultipleValid { .. } => {
            one_of::several_alternatives_match(
                error.schema_path().as_str(),
                pointer_to_value,
                schema,
                faults,
            );
        }
        other => {
            let (code, detail) = code_and_detail(other);
            faults.push(InputFault::new(pointer_to_value, code, detail));
        }
    }
}

/// Returns the pointer to a member of the object at `parent`.
pub(super) fn member(parent: &str, name: &str) -> String {
    let mut pointer = parent.to_owned();
    fault::push_token(&mut pointer, name);
    pointer
}

/// Returns the code and the text for an error about a single value.
fn code_and_detail(kind: &Kind) -> (FaultCode, String) {
    match kind {
        Kind::Type { kind } => (FaultCode::WrongType, expected_types(&type_names(kind))),
        Kind::MinLength { limit } => (FaultCode::TooShort, at_least(*limit, "character")),
        Kind::MinItems { limit } => (FaultCode::TooShort, at_least(*limit, "item")),
        Kind::MinProperties { limit } => (FaultCode::TooShort, at_least(*limit, "member")),
        Kind::MaxLength { limit } => (FaultCode::TooLong, at_most(*limit, "character")),
        Kind::MaxItems { limit } => (FaultCode::TooMany, at_most(*limit, "item")),
        Kind::MaxProperties { limit } => (FaultCode::TooMany, at_most(*limit, "member")),
        Kind::AdditionalItems { limit } => (FaultCode::TooMany, at_most(*limit as u64, "item")),
        Kind::Minimum { limit } => (FaultCode::TooSmall, format!("at least {limit}")),
        Kind::ExclusiveMinimum { limit } => (FaultCode::TooSmall, format!("more than {limit}")),
        Kind::Maximum { limit } => (FaultCode::TooLarge, format!("at most {limit}")),
        Kind::ExclusiveMaximum { limit } => (FaultCode::TooLarge, format!("less than {limit}")),
        Kind::Pattern { pattern } => by_pattern(pattern),
        Kind::Format { format } => (FaultCode::BadFormat, by_format(format)),
        Kind::Enum { options } => (FaultCode::UnknownValue, one_of(options)),
        Kind::Constant { expected_value } => {
            (FaultCode::UnknownValue, format!("must be {expected_value}"))
        }
        Kind::FalseSchema => (FaultCode::UnknownMember, "unknown member".to_owned()),
        _ => (
            FaultCode::BadFormat,
            "does not match the published schema".to_owned(),
        ),
    }
}

fn at_least(limit: u64, what: &str) -> String {
    format!("at least {}", count(limit, what))
}

fn at_most(limit: u64, what: &str) -> String {
    format!("at most {}", count(limit, what))
}

fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// Returns the names of the types that a value may have.
pub(super) fn type_names(kind: &TypeKind) -> Vec<&'static str> {
    match kind {
        TypeKind::Single(single) => vec![single.as_str()],
        TypeKind::Multiple(several) => several.iter().map(JsonType::as_str).collect(),
    }
}

/// Returns a text such as "must be a string or null", with `null` last.
pub(super) fn expected_types(types: &[&str]) -> String {
    let mut types = types.to_vec();
    types.sort_by_key(|name| *name == "null");
    let with_article = |name: &&str| match *name {
        "null" => "null".to_owned(),
        "array" | "integer" | "object" => format!("an {name}"),
        other => format!("a {other}"),
    };
    let types: Vec<String> = types.iter().map(with_article).collect();
    format!("must be {}", types.join(" or "))
}

fn by_pattern(pattern: &str) -> (FaultCode, String) {
    let (code, known) = match pattern {
        text::TEXT_PATTERN => (FaultCode::BadCharacter, "must not contain NUL characters"),
        text::ID_PATTERN => (
            FaultCode::BadCharacter,
            "must not contain control characters",
        ),
        text::NAME_PATTERN => (
            FaultCode::BadCharacter,
            "must not contain control characters except tab, CR and LF",
        ),
        text::VISIBLE_NAME_PATTERN => (
            FaultCode::BadCharacter,
            "must contain more than white space, and no control characters except tab, CR and LF",
        ),
        allowed_origin::ENTRY_PATTERN => (FaultCode::BadFormat, allowed_origin::ENTRY_IN_WORDS),
        id::UUID_PATTERN => (FaultCode::BadFormat, "must be an id"),
        config::RETENTION_PATTERN => (FaultCode::BadFormat, config::RETENTION_IN_WORDS),
        web_address::HTTPS_PATTERN => (FaultCode::BadFormat, web_address::HTTPS_IN_WORDS),
        CHANNEL_PATTERN => (
            FaultCode::BadFormat,
            "must be tenant, agent:<id> or conversation:<id>",
        ),
        other => {
            let detail = format!("must match the pattern {other}");
            return (FaultCode::BadCharacter, detail);
        }
    };
    (code, known.to_owned())
}

fn by_format(format: &str) -> String {
    match format {
        "date-time" => "must be an RFC 3339 time, such as 2026-11-20T09:30:00Z".to_owned(),
        other => format!("must have the format {other}"),
    }
}

fn one_of(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let options: Vec<String> = options
        .iter()
        .map(|option| {
            option
                .as_str()
                .map_or_else(|| option.to_string(), |text| format!("'{text}'"))
        })
        .collect();
    format!("one of {}", options.join(", "))
}

/// Adds a fault for every item that is equal to an earlier one.
fn report_duplicates(list: &Value, pointer_to_value: &str, faults: &mut Faults) {
    let mut seen = HashSet::new();
    for (index, item) in list.as_array().into_iter().flatten().enumerate() {
        if !faults.is_full() && !seen.insert(item.to_string()) {
            let mut pointer = pointer_to_value.to_owned();
            fault::push_index(&mut pointer, index);
            faults.push(InputFault::new(
                pointer,
                FaultCode::DuplicateItem,
                "is in the list more than once",
            ));
        }
    }
}
