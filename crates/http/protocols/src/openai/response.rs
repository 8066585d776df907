//! The objects of responses: completions and the chunks of streams.

use domain::{ActionNeeded, ChatReply, FinishReason, ToolCall, TurnId, Usage};
use serde::Serialize;

use crate::answers::Seen;

/// The members that a completion and its chunks have in common. They follow from the turn, so that a
/// repeated request gets the same.
#[derive(Debug, Clone)]
pub(super) struct Head {
    id: String,
    /// The time at which the turn was created, in seconds.
    created: u64,
    model: String,
}

impl Head {
    /// Creates the head of the reply to a request for `model`.
    pub(super) fn new(turn: TurnId, model: String) -> Self {
        let made_at = turn.uuid().get_timestamp();
        Self {
            id: format!("chatcmpl-{turn}"),
            created: made_at.map_or(0, |time| time.to_unix().0),
            model,
        }
    }
}

/// A whole reply.
#[derive(Debug, Serialize)]
pub(super) struct Completion {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    choices: [Choice; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<CompletionUsage>,
}

#[derive(Debug, Serialize)]
struct Choice {
    index: u32,
    message: AssistantMessage,
    logprobs: (),
    finish_reason: &'static str,
}

#[derive(Debug, Serialize)]
struct AssistantMessage {
    role: &'static str,
    /// Null in place of an empty text before calls.
    content: Option<String>,
    refusal: (),
    annotations: [(); 0],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CompletionCall>,
}

/// A call of a tool of the client.
#[derive(Debug, Serialize)]
pub(super) struct CompletionCall {
    /// The position of the call in the message; of chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction,
}

#[derive(Debug, Serialize)]
struct CalledFunction {
    name: String,
    arguments: String,
}

/// Returns those of a turn's calls that wait for the client.
pub(super) fn calls_for_client(calls: &[ToolCall]) -> Vec<CompletionCall> {
    let waiting = calls.iter();
    let waiting = waiting.filter(|call| call.needs_of_user() == Some(ActionNeeded::Output));
    waiting
        .map(|call| CompletionCall {
            index: None,
            id: call.id.clone(),
            kind: "function",
            function: CalledFunction {
                name: call.name.clone(),
                arguments: call.arguments.to_string(),
            },
        })
        .collect()
}

impl Completion {
    /// Creates the object of a reply, without the part that the client has seen.
    pub(super) fn new(head: Head, reply: &ChatReply, seen: &Seen) -> Self {
        let rest = reply.message.get(seen.text()..).unwrap_or_default();
        let content = match seen.text() {
            0 => rest,
            _ => rest.trim_start_matches('\n'),
        };
        let tool_calls = calls_for_client(&reply.tool_calls);
        let has_content = !content.is_empty() || tool_calls.is_empty();
        Self {
            id: head.id,
            object: "chat.completion",
            created: head.created,
            model: head.model,
            choices: [Choice {
                index: 0,
                message: AssistantMessage {
                    role: "assistant",
                    content: has_content.then(|| content.to_owned()),
                    refusal: (),
                    annotations: [],
                    tool_calls,
                },
                logprobs: (),
                finish_reason: finish_reason(reply.finish_reason),
            }],
            usage: reply.usage.map(CompletionUsage::from),
        }
    }
}

/// A part of a streamed reply.
#[derive(Debug, Serialize)]
pub(super) struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<ChunkChoice<'a>>,
    /// Null in all chunks but the last, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[expect(clippy::option_option, reason = "absent and null differ")]
    usage: Option<Option<CompletionUsage>>,
}

#[derive(Debug, Serialize)]
struct ChunkChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: (),
    finish_reason: Option<&'static str>,
}

/// The change that a chunk makes to the message.
#[derive(Debug, Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CompletionCall>,
}

/// The chunks of one reply.
#[derive(Debug)]
pub(super) struct Chunks {
    /// The members that they have in common.
    pub(super) head: Head,
    /// True if the last chunk has the token counts.
    pub(super) include_usage: bool,
}

impl Chunks {
    /// Returns the first chunk, which names the author.
    pub(super) fn first(&self) -> Chunk<'_> {
        let delta = Delta {
            role: Some("assistant"),
            content: Some(""),
            ..Delta::default()
        };
        self.chunk(delta, None)
    }

    /// Returns a chunk with more text.
    pub(super) fn text<'a>(&'a self, text: &'a str) -> Chunk<'a> {
        let delta = Delta {
            content: Some(text),
            ..Delta::default()
        };
        self.chunk(delta, None)
    }

    /// Returns the chunk with the calls of tools of the client.
    pub(super) fn calls(&self, calls: Vec<CompletionCall>) -> Chunk<'_> {
        let numbered = calls.into_iter().enumerate();
        let numbered = numbered.map(|(index, call)| CompletionCall {
            index: Some(index),
            ..call
        });
        let delta = Delta {
            tool_calls: numbered.collect(),
            ..Delta::default()
        };
        self.chunk(delta, None)
    }

    /// Returns the chunk that ends the text.
    pub(super) fn last(&self, reason: FinishReason) -> Chunk<'_> {
        self.chunk(Delta::default(), Some(finish_reason(reason)))
    }

    /// Returns the chunk with the token counts, if they are requested and known.
    pub(super) fn usage(&self, usage: Option<Usage>) -> Option<Chunk<'_>> {
        let usage = usage.filter(|_| self.include_usage)?;
        Some(Chunk {
            choices: Vec::new(),
            usage: Some(Some(usage.into())),
            ..self.last(FinishReason::Stop)
        })
    }

    fn chunk<'a>(&'a self, delta: Delta<'a>, finish_reason: Option<&'static str>) -> Chunk<'a> {
        Chunk {
            id: &self.head.id,
            object: "chat.completion.chunk",
            created: self.head.created,
            model: &self.head.model,
            choices: vec![ChunkChoice {
                index: 0,
                delta,
                logprobs: (),
                finish_reason,
            }],
            usage: self.include_usage.then_some(None),
        }
    }
}

/// The token counts of a reply.
#[derive(Debug, Clone, Copy, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those of OpenAI")]
struct CompletionUsage {
    prompt_tokens: i64,
    completion_tokens: i64,
    total_tokens: i64,
}

impl From<Usage> for CompletionUsage {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        }
    }
}

const fn finish_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop | FinishReason::HandedOver | FinishReason::Other(_) => "stop",
        FinishReason::RequiresAction => "tool_calls",
        // The reply of a cancelled turn is reported as an error; only its text is incomplete.
        FinishReason::Length | FinishReason::Cancelled | FinishReason::Dismissed => "length",
        FinishReason::ContentFilter => "content_filter",
    }
}
