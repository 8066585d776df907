//! Responses.

use std::{borrow::Cow, fmt};

use domain::Usage;
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use serde_json::{Value, value::RawValue};

use super::usage::read_usage;
use crate::{lenient, tool_call_accumulator::CallPart};

/// One event of a stream, or a whole response: they differ in the member that contains the text.
#[derive(Default, Deserialize)]
pub(crate) struct Chunk<'a> {
    #[serde(default, borrow)]
    pub(crate) choices: Option<Vec<Choice<'a>>>,
    /// The name of the model; empty if it is unknown.
    #[serde(default, borrow, deserialize_with = "lenient::borrowed_text")]
    pub(crate) model: Cow<'a, str>,
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
            model: _,
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
                ..
            } if part.reasoning().is_empty() => Some(text),
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
    /// The reasoning under other names, which some servers send beside each other.
    #[serde(default, deserialize_with = "lenient::text")]
    reasoning: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    reasoning_details: Option<Vec<ReasoningDetail>>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub(crate) tool_calls: Option<Vec<CallPart>>,
}

impl Part<'_> {
    /// The reasoning, under the first of its names that has a text.
    pub(crate) fn reasoning(&self) -> Cow<'_, str> {
        let named = [&self.reasoning_content, &self.reasoning];
        let mut named = named.into_iter().flatten();
        if let Some(text) = named.find(|text| !text.is_empty()) {
            return Cow::Borrowed(text);
        }
        let details = self.reasoning_details.iter().flatten();
        let details = details.filter_map(|it| it.text.as_deref().or(it.summary.as_deref()));
        let thoughts = match &self.content {
            Some(Content::Parts(parts)) => parts.as_slice(),
            _ => &[],
        };
        let thoughts = thoughts.iter().flat_map(ContentPart::thoughts);
        Cow::Owned(details.chain(thoughts).collect())
    }
}

/// A piece of reasoning, or of a summary of it. Encrypted ones have neither.
#[derive(Deserialize)]
struct ReasoningDetail {
    #[serde(default, deserialize_with = "lenient::text")]
    text: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    summary: Option<String>,
}

/// Text, or a list of parts some of which are text. Text is copied only if it contains escapes.
pub(crate) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart>),
}

/// One part of a list. Parts that are neither text nor reasoning are ignored.
#[derive(Deserialize)]
pub(crate) struct ContentPart {
    #[serde(default, rename = "type", deserialize_with = "lenient::text")]
    pub(crate) kind: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub(crate) text: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    thinking: Option<Vec<ReasoningDetail>>,
}

impl ContentPart {
    fn thoughts(&self) -> impl Iterator<Item = &str> {
        let thoughts = self.thinking.iter().flatten();
        thoughts.filter_map(|thought| thought.text.as_deref())
    }
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{from_str, json};

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

    #[rstest]
    #[case(json!({"reasoning_content": "a", "reasoning": "b"}), "a")]
    #[case(json!({"reasoning_content": "", "reasoning": "b", "reasoning_details": [{"text": "c"}]}), "b")]
    #[case(json!({"reasoning_details": [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.encrypted", "data": "x"}, {"summary": "b"}, 5]}), "ab")]
    #[case(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}, {"type": "text", "text": "x"}]}), "a")]
    #[case(json!({"reasoning": {"effort": "low"}, "reasoning_details": {}, "content": "x"}), "")]
    #[case(json!({"reasoning": null, "reasoning_details": null, "content": [{"type": "thinking", "thinking": "x"}]}), "")]
    fn reasoning_has_several_names(#[case] part: Value, #[case] expected: &str) {
        let json = part.to_string();
        let part: Part<'_> = from_str(&json).unwrap();
        assert_eq!(part.reasoning(), expected);
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
}
