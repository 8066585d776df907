//! What comes back.

use domain::Usage;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Value, from_str, value::RawValue};

/// The most tokens that are believed of one question: no model holds nearly as many.
const MOST_TOKENS: f64 = 1e9;

/// One event of a stream, or a whole answer: they differ in where a choice holds its text.
#[derive(Default, Deserialize)]
pub(crate) struct Chunk {
    #[serde(default)]
    pub(crate) choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) error: Option<Value>,
}

impl Chunk {
    /// The tokens, if it tells them.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage.as_deref().and_then(read_usage)
    }
}

/// One of the alternatives; only the first was asked for.
#[derive(Deserialize)]
pub(crate) struct Choice {
    #[serde(default)]
    pub(crate) index: Option<u32>,
    #[serde(default)]
    pub(crate) delta: Option<Part>,
    #[serde(default)]
    pub(crate) message: Option<Part>,
    #[serde(default)]
    pub(crate) finish_reason: Option<String>,
}

/// More of the answer, or all of it.
#[derive(Default, Deserialize)]
pub(crate) struct Part {
    #[serde(default)]
    pub(crate) content: Option<Content>,
    /// In place of the content, when the model will not answer.
    #[serde(default)]
    pub(crate) refusal: Option<String>,
    #[serde(default)]
    pub(crate) reasoning_content: Option<String>,
    #[serde(default)]
    pub(crate) tool_calls: Option<Vec<CallPart>>,
}

/// Text, or a list of parts some of which are text.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

/// One part of a list; what is not text, such as a thought, is passed over.
#[derive(Deserialize)]
pub(crate) struct ContentPart {
    #[serde(default, rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) text: Option<String>,
}

impl Content {
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => {
                let texts = parts.into_iter().filter(|part| part.kind == "text");
                texts.filter_map(|part| part.text).collect()
            }
        }
    }
}

/// A piece of a call.
#[derive(Default, Deserialize)]
pub(crate) struct CallPart {
    #[serde(default)]
    pub(crate) index: Option<u32>,
    #[serde(default)]
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) function: Option<FunctionPart>,
    #[serde(default)]
    pub(crate) extra_content: Option<Value>,
}

/// A piece of what is called.
#[derive(Default, Deserialize)]
pub(crate) struct FunctionPart {
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// A piece of JSON as text; some servers send the object itself.
    #[serde(default, deserialize_with = "text_or_json")]
    pub(crate) arguments: Option<String>,
}

fn text_or_json<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    // As it was written: read and written anew, large numbers would be others.
    let told = Box::<RawValue>::deserialize(source)?;
    match told.get() {
        "null" => Ok(None),
        text if text.starts_with('"') => from_str(text).map(Some).map_err(D::Error::custom),
        json => Ok(Some(json.to_owned())),
    }
}

/// The tokens of a question and its answer. They are an aside: what no server could have counted is
/// passed over, and never costs the answer. A missing count beside a good one is none, since some
/// servers leave out zeros.
fn read_usage(told: &RawValue) -> Option<Usage> {
    #[derive(Deserialize)]
    struct Tokens<'a> {
        #[serde(default, borrow)]
        prompt_tokens: Option<&'a RawValue>,
        #[serde(default, borrow)]
        completion_tokens: Option<&'a RawValue>,
    }
    let told: Tokens<'_> = from_str(told.get()).ok()?;
    if told.prompt_tokens.is_none() && told.completion_tokens.is_none() {
        return None;
    }
    let read = |count: Option<&RawValue>| count.map_or(Some(0), read_count);
    Some(Usage {
        input_tokens: read(told.prompt_tokens)?,
        output_tokens: read(told.completion_tokens)?,
    })
}

/// Some servers write whole numbers as `12.0`.
fn read_count(told: &RawValue) -> Option<i64> {
    let count: f64 = from_str(told.get()).ok()?;
    let is_good = count.fract() == 0.0 && (0.0..=MOST_TOKENS).contains(&count);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
    is_good.then_some(count as i64)
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
        let part: Part = serde_json::from_value(json!({"content": content})).unwrap();
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
    fn arguments_stay_as_they_were_written() {
        let part = r#"{"arguments": {"b": 123456789012345678901234567890, "a": 1.10}}"#;
        let part: FunctionPart = from_str(part).unwrap();
        let expected = r#"{"b": 123456789012345678901234567890, "a": 1.10}"#;
        assert_eq!(part.arguments.as_deref(), Some(expected));
    }

    #[test]
    fn reads_a_chunk_in_which_everything_is_null() {
        let chunk: Chunk =
            serde_json::from_value(json!({"choices": null, "usage": null, "error": null})).unwrap();
        assert!(chunk.choices.is_none() && chunk.usage().is_none() && chunk.error.is_none());
        let choice = json!({"index": null, "delta": {"content": null, "refusal": null, "tool_calls": null}, "finish_reason": null});
        let chunk: Chunk = serde_json::from_value(json!({"choices": [choice]})).unwrap();
        let [choice] = &chunk.choices.unwrap()[..] else {
            panic!("one choice")
        };
        assert!(choice.finish_reason.is_none());
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
    fn tokens_that_cannot_be_are_passed_over(
        #[case] usage: &str,
        #[case] expected: Option<(i64, i64)>,
    ) {
        let chunk = format!(r#"{{"usage": {usage}, "choices": []}}"#);
        let chunk: Chunk = from_str(&chunk).unwrap();
        let expected = expected.map(|(input_tokens, output_tokens)| Usage {
            input_tokens,
            output_tokens,
        });
        assert_eq!(chunk.usage(), expected);
        assert!(chunk.choices.is_some());
    }
}
