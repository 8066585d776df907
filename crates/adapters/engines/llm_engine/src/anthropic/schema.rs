//! Schemas of replies in the part of JSON Schema that the API accepts.
//!
//! The rest becomes a text for the model: the agent loop checks the reply against the whole schema.

use serde_json::{Map, Value};

/// The formats of texts that the API accepts.
const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Returns whether the API accepts the schema: it takes only objects whose members are known.
pub(crate) fn takes_schema(schema: &Value) -> bool {
    match schema {
        Value::Array(parts) => parts.iter().all(takes_schema),
        Value::Object(members) => {
            let is_open = members
                .get("additionalProperties")
                .is_some_and(|it| it != false);
            let has_members = members.contains_key("properties") || members.contains_key("$ref");
            (!describes_object(members) || (has_members && !is_open))
                && members.values().all(takes_schema)
        }
        _ => true,
    }
}

fn describes_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|it| it == "object"),
        kind => kind.is_some_and(|it| it == "object"),
    }
}

/// Returns the schema that is sent, if the API accepts it.
pub(super) fn accepted_schema(schema: &Value) -> Value {
    let Some(members) = schema.as_object() else {
        return schema.clone();
    };
    let (mut accepted, mut described) = (Map::new(), Map::new());
    for (name, value) in members {
        if let Some((name, value)) = accepted_member(name, value, members) {
            accepted.insert(name.to_owned(), value);
        } else if name != "$schema" {
            described.insert(name.clone(), value.clone());
        }
    }
    if describes_object(members) {
        // The API accepts no other objects.
        accepted
            .entry("additionalProperties")
            .or_insert(false.into());
    }
    if !described.is_empty() {
        let before = members.get("description").and_then(Value::as_str);
        let before = before.map(|it| format!("{it}\n\n")).unwrap_or_default();
        let text = format!("{before}{}", Value::Object(described));
        accepted.insert("description".to_owned(), text.into());
    }
    accepted.into()
}

/// Returns a member as it is sent; `None` if the API does not accept it.
fn accepted_member<'a>(
    name: &'a str,
    value: &Value,
    siblings: &Map<String, Value>,
) -> Option<(&'a str, Value)> {
    let list = || Some(value.as_array()?.iter().map(accepted_schema).collect());
    let named = || {
        let parts = value.as_object()?.iter();
        let parts = parts.map(|(name, part)| (name.clone(), accepted_schema(part)));
        Some(Value::Object(parts.collect()))
    };
    let sent = match name {
        "$ref"
        | "additionalProperties"
        | "const"
        | "description"
        | "enum"
        | "required"
        | "title"
        | "type" => value.clone(),
        "$defs" | "properties" => named()?,
        "items" => accepted_schema(value),
        "anyOf" | "allOf" => list()?,
        "oneOf" if !siblings.contains_key("anyOf") => return Some(("anyOf", list()?)),
        "format" if FORMATS.iter().any(|it| value == it) => value.clone(),
        "minItems" if *value == 0 || *value == 1 => value.clone(),
        _ => return None,
    };
    Some((name, sent))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::complete(
        json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x", null]}}, "required": ["a"], "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x", null]}}, "required": ["a"], "additionalProperties": false})
    )]
    #[case::open(
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"a": {"type": ["object", "null"], "properties": {}}}}),
        json!({"type": "object", "properties": {"a": {"type": ["object", "null"], "properties": {}, "additionalProperties": false}}, "additionalProperties": false})
    )]
    #[case::limits(
        json!({"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "integer", "description": "Pieces.", "minimum": 1}}),
        json!({"type": "array", "minItems": 1, "description": "{\"maxItems\":3}", "items": {"type": "integer", "description": "Pieces.\n\n{\"minimum\":1}"}})
    )]
    #[case::formats(
        json!({"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "zip"}]}),
        json!({"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "description": "{\"format\":\"zip\"}"}]})
    )]
    #[case::references(
        json!({"oneOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "object", "properties": {}}}}),
        json!({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "object", "properties": {}, "additionalProperties": false}}})
    )]
    #[case::no_schema(json!(true), json!(true))]
    fn what_the_api_does_not_accept_is_described(#[case] schema: Value, #[case] expected: Value) {
        assert_eq!(accepted_schema(&schema), expected);
    }

    #[rstest]
    #[case(json!({"type": "object"}), false)]
    #[case(json!({"type": "object", "additionalProperties": {"type": "string"}}), false)]
    #[case(json!({"type": "object", "properties": {}, "additionalProperties": true}), false)]
    #[case(json!({"type": "object", "properties": {"a": {"type": ["null", "object"]}}}), false)]
    #[case(json!({"anyOf": [{"type": "string"}, {"type": "object"}]}), false)]
    #[case(json!({"type": "object", "properties": {"a": {"type": "string"}}}), true)]
    #[case(json!({"type": "array", "items": {"type": "integer"}}), true)]
    #[case(json!(true), true)]
    fn objects_with_unknown_members_are_not_taken(#[case] schema: Value, #[case] expected: bool) {
        assert_eq!(takes_schema(&schema), expected);
    }
}
