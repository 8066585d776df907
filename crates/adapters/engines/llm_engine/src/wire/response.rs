//! Responses.

use std::{borrow::Cow, fmt};

use domain::Usage;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use serde_json::{Value, from_str, value::RawValue};

use super::lenient;

/// The maximum number of tokens that is plausible for one request.
const MAX_TOKENS: f64 = 1e9;

/// One event of a stream, or a whole response: they differ in the member that contains the text.
#[derive(Default, Deserialize)]
pub(crate) struct Chunk<'a> {
    #[serde(default, borrow)]
    pub(crate) choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) error: Option<Value>,
}

impl<'a> Chunk<'a> {
    /// The text of a chunk of a stream that consists of text without escapes.
    pub(crate) fn plain_text(&self) -> Option<&'a str> {
        let Self {
            choices: Some(choices),
            usage: None,
            error: None,
        } = self
        else {
            return None;
        };
        let [
            Choice {
                index: None | Some(0),
                delta: Some(part),
                message: None,
                finish_reason: None,
            },
        ] = choices.as_slice()
        else {
            return None;
        };
        match part {
            Part {
                content: Some(Content::Text(Cow::Borrowed(text))),
                refusal: None,
                reasoning_content: None,
                tool_calls: None,
            } => Some(text),
            _ => None,
        }
    }

    /// The token usage, if the response contains it.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage.as_deref().and_then(read_usage)
    }
}

/// One of the alternatives. Only one is requested.
#[derive(Default, Deserialize)]
pub(crate) struct Choice<'a> {
    #[serde(default, deserialize_with = "lenient::index")]
    pub(crate) index: Option<u32>,
    #[serde(default, borrow)]
    pub(crate) delta: Option<Part<'a>>,
    #[serde(default, borrow)]
    pub(crate) message: Option<Part<'a>>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(crate) finish_reason: Option<String>,
}

/// A part of the reply, or all of it.
#[derive(Default, Deserialize)]
pub(crate) struct Part<'a> {
    #[serde(default, borrow)]
    pub(crate) content: Option<Content<'a>>,
    /// Replaces the content if the model refuses to reply.
    #[serde(default, deserialize_with = "lenient::text")]
    pub(crate) refusal: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(crate) reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub(crate) tool_calls: Option<Vec<CallPart>>,
}

/// Text, or a list of parts some of which are text. Text is copied only if it contains escapes.
pub(crate) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart>),
}

/// One part of a list. Parts that are not text, such as reasoning, are ignored.
#[derive(Deserialize)]
pub(crate) struct ContentPart {
    #[serde(default, rename = "type", deserialize_with = "lenient::text")]
    pub(crate) kind: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(crate) text: Option<String>,
}

/// Written by hand, because a derived implementation of an untagged enum would copy every piece of
/// text twice.
impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text or a list of parts")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
        Ok(Content::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
        Ok(Content::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<Content<'de>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(parts)).map(Content::Parts)
    }
}

impl<'a> Content<'a> {
    pub(crate) fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => {
                let texts = parts
                    .into_iter()
                    .filter(|part| part.kind.as_deref() == Some("text"));
                Cow::Owned(texts.filter_map(|part| part.text).collect())
            }
        }
    }
}

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

/// Reads the token usage. Implausible counts are ignored and never fail the response. A count that
/// is missing beside a valid one is zero, since some servers omit zeros.
fn read_usage(raw: &RawValue) -> Option<Usage> {
    #[derive(Deserialize)]
    struct RawUsage<'a> {
        #[serde(default, borrow)]
        prompt_tokens: Option<&'a RawValue>,
        #[serde(default, borrow)]
        completion_tokens: Option<&'a RawValue>,
        #[serde(default, borrow)]
        prompt_tokens_details: Option<&'a RawValue>,
        #[serde(default, borrow)]
        completion_tokens_details: Option<&'a RawValue>,
    }
    let raw: RawUsage<'_> = from_str(raw.get()).ok()?;
    if raw.prompt_tokens.is_none() && raw.completion_tokens.is_none() {
        return None;
    }
    let read = |count: Option<&RawValue>| count.map_or(Some(0), read_count);
    let (input_tokens, output_tokens) = (read(raw.prompt_tokens)?, read(raw.completion_tokens)?);
    let part = |count: Option<&RawValue>, all| read_count(count?).filter(|part| *part <= all);
    let (prompt, completion) = (raw.prompt_tokens_details, raw.completion_tokens_details);
    Some(Usage {
        input_tokens,
        output_tokens,
        cached_input_tokens: part(TokenDetails::read(prompt).cached_tokens, input_tokens),
        reasoning_tokens: part(
            TokenDetails::read(completion).reasoning_tokens,
            output_tokens,
        ),
    })
}

/// The parts of a token count.
#[derive(Default, Deserialize)]
struct TokenDetails<'a> {
    #[serde(default, borrow)]
    cached_tokens: Option<&'a RawValue>,
    #[serde(default, borrow)]
    reasoning_tokens: Option<&'a RawValue>,
}

impl<'a> TokenDetails<'a> {
    fn read(raw: Option<&'a RawValue>) -> Self {
        let details = raw.and_then(|raw| from_str(raw.get()).ok());
        details.unwrap_or_default()
    }
}

/// Reads a count. Some servers write integers as `12.0`.
fn read_count(raw: &RawValue) -> Option<i64> {
    let count: f64 = from_str(raw.get()).ok()?;
    let is_valid = count.fract() == 0.0 && (0.0..=MAX_TOKENS).contains(&count);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
    is_valid.then_some(count as i64)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!("text"), "text")]
    #[case(json!([{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab")]
    #[case(json!([]), "")]
    fn content_is_text_or_parts(#[case] content: Value, #[case] expected: &str) {
        let part = json!({"content": content}).to_string();
        let part: Part<'_> = from_str(&part).unwrap();
        assert_eq!(part.content.unwrap().into_text(), expected);
    }

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

    #[rstest]
    #[case(json!([null]), 0)]
    #[case(json!({}), 0)]
    #[case(json!("none"), 0)]
    #[case(json!([null, {"function": {"name": "time"}}, 5]), 1)]
    #[case(json!({"function": {"name": "time"}}), 1)]
    #[case(json!([{"id": 17, "index": "1", "type": [], "function": null}]), 1)]
    fn members_of_no_importance_have_any_type(#[case] calls: Value, #[case] expected: usize) {
        let delta = json!({"content": [{"type": null}, {"type": "text", "text": "Hi"}], "refusal": {}, "reasoning_content": 5, "role": 1, "tool_calls": calls});
        let choice = json!({"index": "0", "delta": delta, "finish_reason": false});
        let chunk = json!({"id": 1, "choices": [choice]}).to_string();
        let chunk: Chunk<'_> = from_str(&chunk).unwrap();
        let choice = chunk.choices.unwrap().remove(0);
        assert_eq!((choice.index, choice.finish_reason), (Some(0), None));
        let part = choice.delta.unwrap();
        assert_eq!(part.tool_calls.unwrap_or_default().len(), expected);
        assert_eq!(part.content.unwrap().into_text(), "Hi");
    }

    #[test]
    fn a_chunk_of_nulls_is_read() {
        let chunk = r#"{"choices": null, "usage": null, "error": null}"#;
        let chunk: Chunk<'_> = from_str(chunk).unwrap();
        assert!(chunk.choices.is_none() && chunk.usage().is_none() && chunk.error.is_none());
        let choice = json!({"index": null, "delta": {"content": null, "refusal": null, "tool_calls": null}, "finish_reason": null});
        let chunk = json!({"choices": [choice]}).to_string();
        let chunk: Chunk<'_> = from_str(&chunk).unwrap();
        let [choice] = &chunk.choices.unwrap()[..] else {
            panic!("one choice")
        };
        assert!(choice.finish_reason.is_none());
    }

    #[rstest]
    #[case(r#"{"cached_tokens": 7}"#, r#"{"reasoning_tokens": 2.0}"#, (Some(7), Some(2)))]
    #[case(r#"{"cached_tokens": 0, "audio_tokens": 1}"#, "{}", (Some(0), None))]
    #[case(r#"{"reasoning_tokens": 1}"#, r#"{"cached_tokens": 1}"#, (None, None))]
    #[case(r#"{"cached_tokens": 8}"#, r#"{"reasoning_tokens": 3}"#, (None, None))]
    #[case(r#"{"cached_tokens": null}"#, r#"{"reasoning_tokens": -1}"#, (None, None))]
    #[case("null", "5", (None, None))]
    #[case("[]", r#""many""#, (None, None))]
    fn implausible_details_are_unknown(
        #[case] prompt: &str,
        #[case] completion: &str,
        #[case] (cached_input_tokens, reasoning_tokens): (Option<i64>, Option<i64>),
    ) {
        let chunk = format!(
            r#"{{"usage": {{"prompt_tokens": 7, "completion_tokens": 2,
                "prompt_tokens_details": {prompt}, "completion_tokens_details": {completion}}}}}"#
        );
        let chunk: Chunk<'_> = from_str(&chunk).unwrap();
        let expected = Usage {
            input_tokens: 7,
            output_tokens: 2,
            cached_input_tokens,
            reasoning_tokens,
        };
        assert_eq!(chunk.usage(), Some(expected));
    }

    #[rstest]
    #[case(r#"{"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}"#, Some((7, 2)))]
    #[case(r#"{"prompt_tokens": 7.0, "completion_tokens": 2e0}"#, Some((7, 2)))]
    #[case(r#"{"prompt_tokens": 7, "completion_tokens": null}"#, Some((7, 0)))]
    #[case(r#"{"completion_tokens": 2}"#, Some((0, 2)))]
    #[case(r#"{"prompt_tokens": 7, "completion_tokens": -1}"#, None)]
    #[case(r#"{"prompt_tokens": 7, "completion_tokens": 2.5}"#, None)]
    #[case(r#"{"prompt_tokens": 7, "completion_tokens": "2"}"#, None)]
    #[case(r#"{"prompt_tokens": [7], "completion_tokens": {}}"#, None)]
    #[case(r#"{"prompt_tokens": 1000000001, "completion_tokens": 2}"#, None)]
    #[case(
        r#"{"prompt_tokens": 9223372036854775808, "completion_tokens": 2}"#,
        None
    )]
    #[case(r#"{"prompt_tokens": 1e999, "completion_tokens": 2}"#, None)]
    #[case("{}", None)]
    #[case("null", None)]
    #[case("[]", None)]
    #[case("\"many\"", None)]
    #[case("-1e999", None)]
    fn implausible_usage_is_ignored(#[case] usage: &str, #[case] expected: Option<(i64, i64)>) {
        let chunk = format!(r#"{{"usage": {usage}, "choices": []}}"#);
        let chunk: Chunk<'_> = from_str(&chunk).unwrap();
        let expected = expected.map(|(input_tokens, output_tokens)| Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        });
        assert_eq!(chunk.usage(), expected);
        assert!(chunk.choices.is_some());
    }
}
