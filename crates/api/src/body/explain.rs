//! What a validator found, in the service's own words.
//!
//! The validator's texts quote the value; these never do. They tell the limit instead, and every
//! pointer leads to the very member that is wrong, missing or too many.

use std::collections::HashSet;

use domain::{Fault, FaultCode, fault, text, web_address};
use jsonschema::{
    JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use super::{faults::Faults, union};
use crate::socket::frames::CHANNEL_PATTERN;

/// Adds the faults that `error` stands for. `schema` is the whole schema that was checked
/// against.
pub(super) fn explain(error: &ValidationError<'_>, schema: &Value, faults: &mut Faults) {
    if faults.is_full() {
        return;
    }
    let place = error.instance_path().as_str();
    match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            faults.push(Fault::new(
                member(place, name),
                FaultCode::Required,
                "must be there",
            ));
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            for name in unexpected {
                let pointer = member(place, name);
                let detail = "there is no such member here";
                faults.push(Fault::new(pointer, FaultCode::UnknownMember, detail));
            }
        }
        Kind::PropertyNames { error: inner } => {
            let pointer = member(place, inner.instance().as_str().unwrap_or_default());
            let (code, detail) = refusal(inner.kind());
            faults.push(Fault::new(pointer, code, format!("as a name: {detail}")));
        }
        Kind::UniqueItems => repeated(error.instance(), place, faults),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            union::none_fits(context, place, schema, faults);
        }
        Kind::OneOfMultipleValid { .. } => {
            union::several_fit(error.schema_path().as_str(), place, schema, faults);
        }
        other => {
            let (code, detail) = refusal(other);
            faults.push(Fault::new(place, code, detail));
        }
    }
}

/// The pointer of a member of the object at `place`.
pub(super) fn member(place: &str, name: &str) -> String {
    let mut pointer = place.to_owned();
    fault::push_token(&mut pointer, name);
    pointer
}

/// Code and text of what is wrong with a single value.
fn refusal(kind: &Kind) -> (FaultCode, String) {
    match kind {
        Kind::Type { kind } => (FaultCode::WrongType, must_be(&type_names(kind))),
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
        Kind::FalseSchema => (
            FaultCode::UnknownMember,
            "there is no such member here".to_owned(),
        ),
        _ => (
            FaultCode::BadFormat,
            "not as the published schema says".to_owned(),
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

/// The types that a value may have.
pub(super) fn type_names(kind: &TypeKind) -> Vec<&'static str> {
    match kind {
        TypeKind::Single(single) => vec![single.as_str()],
        TypeKind::Multiple(several) => several.iter().map(JsonType::as_str).collect(),
    }
}

/// "must be a string or null": `null` last, as people say it.
pub(super) fn must_be(types: &[&str]) -> String {
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
        text::TEXT_PATTERN => (FaultCode::BadCharacter, "no NUL character"),
        text::NAME_PATTERN => (
            FaultCode::BadCharacter,
            "no control characters but tab, CR and LF",
        ),
        text::VISIBLE_NAME_PATTERN => (
            FaultCode::BadCharacter,
            "not white space alone, and no control characters but tab, CR and LF",
        ),
        web_address::ORIGIN_PATTERN => (FaultCode::BadFormat, web_address::ORIGIN_IN_WORDS),
        web_address::HTTPS_PATTERN => (FaultCode::BadFormat, web_address::HTTPS_IN_WORDS),
        CHANNEL_PATTERN => (
            FaultCode::BadFormat,
            "tenant, agent:<id> or conversation:<id>",
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

/// Points to every item that stands in the list before.
fn repeated(list: &Value, place: &str, faults: &mut Faults) {
    let mut seen = HashSet::new();
    for (index, item) in list.as_array().into_iter().flatten().enumerate() {
        if !faults.is_full() && !seen.insert(item.to_string()) {
            let mut pointer = place.to_owned();
            fault::push_index(&mut pointer, index);
            faults.push(Fault::new(
                pointer,
                FaultCode::DuplicateItem,
                "stands here twice",
            ));
        }
    }
}
