//! Requests.

use std::{borrow::Cow, collections::BTreeMap};

use domain::ReasoningEffort;
use serde::Serialize;
use serde_json::Value;

use crate::base64_text::Base64Text;

/// The body of a request for a chat completion. `M` is a sequence of [`PromptMessage`].
#[derive(Serialize)]
pub(crate) struct CompletionRequest<'a, M> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'a str>,
    pub(crate) messages: &'a M,
    pub(crate) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    pub(crate) settings: &'a Settings,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) tools: &'a [Tool<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) response_format: Option<ResponseFormat<'a>>,
    /// None of these has the name of another member.
    #[serde(flatten)]
    pub(crate) extra_body: &'a BTreeMap<&'a str, &'a Value>,
}

/// The form of the reply.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ResponseFormat<'a> {
    JsonSchema { json_schema: NamedSchema<'a> },
}

/// A JSON Schema.
#[derive(Serialize)]
pub(crate) struct NamedSchema<'a> {
    name: &'static str,
    schema: &'a Value,
    /// True to let the model write nothing else, which servers support for few schemas.
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

impl<'a> ResponseFormat<'a> {
    pub(crate) fn of_schema(schema: &'a Value) -> Self {
        Self::JsonSchema {
            json_schema: NamedSchema {
                name: "reply",
                schema,
                strict: can_be_strict(schema).then_some(true),
            },
        }
    }
}

/// Additional content of a stream.
#[derive(Serialize)]
pub(crate) struct StreamOptions {
    pub(crate) include_usage: bool,
}

/// The parameters of the model.
#[derive(Default, Serialize)]
pub(crate) struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) stop: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_effort: Option<ReasoningEffort>,
}

/// One message of the prompt.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum PromptMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        /// Some servers require the model's reasoning back while it uses tools; only those send it
        /// under this name.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<AssistantToolCall<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: &'a str,
    },
}

/// The content of a message of the user.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum UserContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

/// A part of a message of the user.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: FileData<'a> },
    InputAudio { input_audio: AudioData<'a> },
}

/// A picture, as a data URL.
#[derive(Serialize)]
pub(crate) struct ImageUrl<'a> {
    pub(crate) url: Base64Text<'a>,
}

/// A document, as a data URL.
#[derive(Serialize)]
pub(crate) struct FileData<'a> {
    pub(crate) filename: &'a str,
    pub(crate) file_data: Base64Text<'a>,
}

/// Sound, in Base64.
#[derive(Serialize)]
pub(crate) struct AudioData<'a> {
    pub(crate) data: Base64Text<'a>,
    pub(crate) format: &'static str,
}

/// A tool call of the model in the history of the request.
#[derive(Serialize)]
pub(crate) struct AssistantToolCall<'a> {
    pub(crate) id: Cow<'a, str>,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: FunctionCall<'a>,
    /// An addition of some servers to a tool call that they require back unchanged, such as a
    /// signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extra_content: Option<&'a Value>,
}

/// The called function and its arguments.
#[derive(Serialize)]
pub(crate) struct FunctionCall<'a> {
    pub(crate) name: &'a str,
    /// JSON text.
    pub(crate) arguments: &'a str,
}

/// A tool that the model may call.
#[derive(Serialize)]
pub(crate) struct Tool<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: Function<'a>,
}

/// The function of a tool.
#[derive(Serialize)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) parameters: Value,
}

/// The keywords of schemas that `strict` supports everywhere.
const STRICT_KEYWORDS: [&str; 13] = [
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "title",
    "type",
];

/// Returns whether a schema describes an object, and can be sent as `strict`.
fn can_be_strict(schema: &Value) -> bool {
    let is_object = schema.get("type").is_some_and(|it| it == "object");
    is_object && schema.get("anyOf").is_none() && is_strict(schema)
}

/// Returns whether every object in a schema has all of its members and no others.
fn is_strict(schema: &Value) -> bool {
    let Some(keywords) = schema.as_object() else {
        return false;
    };
    let named = |keyword: &str| {
        let parts = schema.get(keyword).and_then(Value::as_object);
        parts.into_iter().flatten()
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|it| it.iter().any(|one| one == name));
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let describes_object = keywords.contains_key("properties")
        || keywords.get("type").is_some_and(|it| it == "object");
    let alternatives = schema.get("anyOf").and_then(Value::as_array);
    keywords
        .keys()
        .all(|it| STRICT_KEYWORDS.contains(&it.as_str()))
        && (!describes_object || is_closed)
        && named("properties").all(|(name, part)| is_required(name) && is_strict(part))
        && named("$defs").all(|(_, part)| is_strict(part))
        && schema.get("items").is_none_or(is_strict)
        && alternatives.into_iter().flatten().all(is_strict)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}), true)]
    #[case(json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}), false)]
    #[case(json!({"type": "object", "properties": {}}), false)]
    #[case(json!({"type": "array", "items": {"type": "string"}}), false)]
    #[case(json!({"type": "object", "properties": {"a": {"not": {}}}, "required": ["a"], "additionalProperties": false}), false)]
    #[case(json!({"type": "object", "properties": {"a": {"items": {"$ref": "#"}}}, "required": ["a"], "additionalProperties": false}), true)]
    fn schemas_are_strict_if_all_servers_support_them(
        #[case] schema: Value,
        #[case] expected: bool,
    ) {
        let format = serde_json::to_value(ResponseFormat::of_schema(&schema)).unwrap();
        assert_eq!(format["json_schema"]["schema"], schema);
        assert_eq!(
            format["json_schema"].get("strict").is_some(),
            expected,
            "{schema}"
        );
    }
}
