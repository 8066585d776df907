//! The pieces of tool calls.

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Value, from_str, value::RawValue};

use crate::lenient;

/// A piece of a tool call.
#[derive(Default, Deserialize)]
pub(crate) struct CallPart {
    #[serde(default, deserialize_with = "lenient::index")]
    pub(crate) index: Option<u32>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) function: Option<FunctionPart>,
    #[serde(default)]
    pub(crate) extra_content: Option<Value>,
}

impl CallPart {
    /// The id, unless it is empty.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref().filter(|id| !id.is_empty())
    }

    /// The name, or a piece of it, unless it is empty.
    pub(crate) fn name(&self) -> Option<&str> {
        let name = self.function.as_ref()?.name.as_deref();
        name.filter(|name| !name.is_empty())
    }

    /// A piece of the arguments, unless it is blank.
    pub(crate) fn arguments(&self) -> Option<&str> {
        let arguments = self.function.as_ref()?.arguments.as_deref();
        arguments.filter(|arguments| !arguments.trim().is_empty())
    }
}

/// A piece of the called function.
#[derive(Default, Deserialize)]
pub(crate) struct FunctionPart {
    #[serde(default, deserialize_with = "lenient::text")]
    pub(crate) name: Option<String>,
    /// A piece of JSON text; some servers send the object itself.
    #[serde(default, deserialize_with = "text_or_json")]
    pub(crate) arguments: Option<String>,
}

fn text_or_json<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    // The original text: parsing and serializing would change large numbers.
    let raw = Box::<RawValue>::deserialize(source)?;
    match raw.get() {
        "null" => Ok(None),
        text if text.starts_with('"') => from_str(text).map(Some).map_err(D::Error::custom),
        json => Ok(Some(json.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!("{\"a\":1}"), Some("{\"a\":1}"))]
    #[case(json!({"a": 1}), Some("{\"a\":1}"))]
    #[case(json!(null), None)]
    fn arguments_are_text_or_json(#[case] arguments: Value, #[case] expected: Option<&str>) {
        let part: FunctionPart = serde_json::from_value(json!({"arguments": arguments})).unwrap();
        assert_eq!(part.arguments.as_deref(), expected);
    }

    #[test]
    fn arguments_keep_their_original_text() {
        let part = r#"{"arguments": {"b": 123456789012345678901234567890, "a": 1.10}}"#;
        let part: FunctionPart = from_str(part).unwrap();
        let expected = r#"{"b": 123456789012345678901234567890, "a": 1.10}"#;
        assert_eq!(part.arguments.as_deref(), Some(expected));
    }
}
