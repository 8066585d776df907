//! What is sent and what comes back, in the form of `OpenAI`'s chat completions.

use domain::Usage;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The body of a question.
#[derive(Debug, Serialize)]
pub(crate) struct Question<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'a str>,
    pub(crate) messages: &'a [PromptMessage],
    pub(crate) stream: bool,
    pub(crate) stream_options: StreamOptions,
    #[serde(flatten)]
    pub(crate) settings: &'a Settings,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) tools: &'a [Tool],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_choice: Option<&'static str>,
}

/// What a stream tells beside the answer.
#[derive(Debug, Serialize)]
pub(crate) struct StreamOptions {
    pub(crate) include_usage: bool,
}

/// How the model is to speak.
#[derive(Debug, Default, Serialize)]
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
}

/// One message of the prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum PromptMessage {
    System {
        content: String,
    },
    User {
        content: String,
    },
    Assistant {
        content: Option<String>,
        /// Some servers want the model's thoughts back while it uses tools; only those tell them
        /// under this name.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<CallMade>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

/// A call that the model made, told back to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CallMade {
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: FunctionCalled,
    /// What some servers add to a call and want back unchanged, such as a signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extra_content: Option<Value>,
}

/// Which function, with what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FunctionCalled {
    pub(crate) name: String,
    /// JSON as text.
    pub(crate) arguments: String,
}

/// A tool that the model may call.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Tool {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: Function,
}

/// A tool as a function.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
}

/// One event of a stream, or a whole answer: they differ in where a choice holds its text.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Chunk {
    #[serde(default)]
    pub(crate) choices: Option<Vec<Choice>>,
    #[serde(default)]
    pub(crate) usage: Option<Tokens>,
    #[serde(default)]
    pub(crate) error: Option<Value>,
}

/// One of the alternatives; only the first was asked for.
#[derive(Debug, Deserialize)]
pub(crate) struct Choice {
    #[serde(default)]
    pub(crate) index: u32,
    #[serde(default)]
    pub(crate) delta: Option<Part>,
    #[serde(default)]
    pub(crate) message: Option<Part>,
    #[serde(default)]
    pub(crate) finish_reason: Option<String>,
}

/// More of the answer, or all of it.
#[derive(Debug, Default, Deserialize)]
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
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

/// One part of a list; what is not text, such as a thought, is passed over.
#[derive(Debug, Deserialize)]
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
#[derive(Debug, Default, Deserialize)]
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
#[derive(Debug, Default, Deserialize)]
pub(crate) struct FunctionPart {
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// A piece of JSON as text; some servers send the object itself.
    #[serde(default, deserialize_with = "text_or_json")]
    pub(crate) arguments: Option<String>,
}

fn text_or_json<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(source)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        json => Some(json.to_string()),
    })
}

/// The tokens of one question and its answer.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Tokens {
    #[serde(default)]
    prompt_tokens: Option<i64>,
    #[serde(default)]
    completion_tokens: Option<i64>,
}

impl Tokens {
    pub(crate) fn usage(self) -> Usage {
        Usage {
            input_tokens: self.prompt_tokens.unwrap_or_default().max(0),
            output_tokens: self.completion_tokens.unwrap_or_default().max(0),
        }
    }
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
    fn reads_a_chunk_in_which_everything_is_null() {
        let chunk: Chunk =
            serde_json::from_value(json!({"choices": null, "usage": null, "error": null})).unwrap();
        assert!(chunk.choices.is_none() && chunk.usage.is_none() && chunk.error.is_none());
        let choice = json!({"delta": {"content": null, "refusal": null, "tool_calls": null}, "finish_reason": null});
        let chunk: Chunk = serde_json::from_value(json!({"choices": [choice]})).unwrap();
        let [choice] = &chunk.choices.unwrap()[..] else {
            panic!("one choice")
        };
        assert!(choice.finish_reason.is_none());
    }
}
