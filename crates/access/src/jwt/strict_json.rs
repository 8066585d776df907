//! Strict reading of JSON objects. Parsers differ in the value that they take from duplicate names,
//! so duplicate claims are rejected.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Reads one JSON object. Returns `None` for anything else, and for duplicate names at any depth.
pub(super) fn read_object(bytes: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice(bytes) {
        Ok(Strict(Value::Object(object))) => Some(object),
        _ => None,
    }
}

/// The error for a member that exists and is not a string.
pub(super) struct NotAString;

/// Returns a string member, or `None` if it is absent.
pub(super) fn optional_text<'json>(
    object: &'json Map<String, Value>,
    name: &str,
) -> Result<Option<&'json str>, NotAString> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(NotAString),
    }
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Strict(value))) = members.next_entry()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a member stands twice"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_an_object_as_the_lenient_parser_does() {
        let text = r#"{"a":[1,-2,0.5,null,true,"\u00e4"],"b":{"c":{}}}"#;
        let lenient: Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            read_object(text.as_bytes()).map(Value::Object),
            Some(lenient)
        );
    }

    #[test]
    fn refuses_doubled_members_and_what_is_no_object() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"a":{"b":1,"b":2}}"#,
            r#"{"a":[{"b":1,"b":2}]}"#,
            r"[]",
            r#""a""#,
            r"{} {}",
            r"{",
            "",
        ] {
            assert_eq!(read_object(text.as_bytes()), None, "{text}");
        }
        assert_eq!(read_object(b"{\"a\":\"\xff\"}"), None);
        let deep = format!("{}1{}", "{\"a\":".repeat(1_000), "}".repeat(1_000));
        assert_eq!(read_object(deep.as_bytes()), None);
    }
}
