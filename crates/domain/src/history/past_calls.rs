//! The tool calls of turns that have ended, as engines receive them in later turns.

use std::sync::Arc;

use crate::{
    MemorySize, ModelResponse, ModelStep, Repetition, ToolCall, ToolStep, Unanswered,
    sizes::PAST_RESULT_BYTES,
};

/// The statuses of calls that were not made, although nothing was wrong with them.
const NOT_MADE: [&str; 4] = [
    ToolCall::DENIED,
    ToolCall::DISMISSED,
    ToolCall::EXPIRED,
    ToolCall::TOO_MANY,
];

/// The tool calls of ended turns, which belong to one message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PastCalls {
    /// The responses with the calls, oldest first. Each call has an end, with at most the first 4 KiB of its
    /// result.
    pub steps: Vec<Arc<ModelStep>>,
    /// The number of bytes at the start of the message's text that the responses contain.
    pub text_bytes: usize,
    /// The end of the turn, unless the message is its whole reply.
    pub ending: Option<PastEnding>,
}

/// The end of a turn whose reply is not part of the history, or incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastEnding {
    /// The turn failed.
    Failed,
    /// The turn was cancelled.
    Cancelled,
    /// The message is superseded.
    Withdrawn,
    /// The message is answered again.
    Replaced,
    /// The reply was not copied into this conversation.
    LeftOut,
}

impl PastEnding {
    /// Returns the end in words for models.
    pub const fn note(self) -> &'static str {
        match self {
            Self::Failed => "[This reply failed. What the calls before have done remains done.]",
            Self::Cancelled => {
                "[This reply was cancelled. What the calls before have done remains done.]"
            }
            Self::Withdrawn => {
                "[The message before these calls was withdrawn, with the reply. What the calls have \
                 done remains done.]"
            }
            Self::Replaced => {
                "[Another reply to the same message replaces the one with these calls. What the calls have \
                 done remains done.]"
            }
            Self::LeftOut => {
                "[This reply was left out. What the calls before have done remains done.]"
            }
        }
    }
}

impl PastCalls {
    /// Returns the calls that were made for a reply with this text. Its beginning is that of the responses.
    pub fn of_reply(steps: &[Arc<ModelStep>], text: &str) -> Self {
        let last = steps.last().and_then(|step| step.calls.first());
        let text_bytes = last.map_or(0, |call| call.at);
        let text_bytes = if text.is_char_boundary(text_bytes) {
            text_bytes
        } else {
            0
        };
        let remembered = |step: &Arc<ModelStep>| {
            let response = ModelResponse {
                text: match text_bytes {
                    0 => String::new(),
                    _ => step.response.text.clone(),
                },
                engine: step.response.engine.clone(),
                ..ModelResponse::default()
            };
            Arc::new(ModelStep {
                response,
                calls: step.calls.iter().map(ToolStep::remembered).collect(),
            })
        };
        Self {
            steps: steps.iter().map(remembered).collect(),
            text_bytes,
            ending: None,
        }
    }

    /// Returns these calls after those of earlier turns for the same message; `None` if there are none.
    #[must_use]
    pub fn after(mut self, earlier: &[Arc<ModelStep>]) -> Option<Self> {
        self.steps.splice(..0, without_state(earlier));
        (!self.steps.is_empty()).then_some(self)
    }

    /// Returns the number of characters of the calls and their results.
    pub fn characters(&self) -> usize {
        self.texts().map(|text| text.chars().count()).sum()
    }

    /// Returns the number of bytes of the calls and their results.
    pub fn bytes(&self) -> usize {
        self.texts().map(str::len).sum()
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let calls = self.steps.iter().flat_map(|step| &step.calls);
        calls.flat_map(|call| {
            let result = call.end.as_ref().map_or("", |end| &end.result);
            [call.function.as_str(), &call.arguments, result]
        })
    }
}

impl MemorySize for PastCalls {
    fn memory_bytes(&self) -> usize {
        let of_step = |step: &Arc<ModelStep>| {
            let calls = step.calls.iter();
            let names = calls.map(|call| {
                size_of::<ToolStep>() + call.call_id.len() + call.name.len() + call.end_bytes()
            });
            let texts = step.response.engine.len() + step.response.text.len();
            size_of::<ModelStep>() + texts + names.sum::<usize>()
        };
        size_of::<Self>() + self.bytes() + self.steps.iter().map(of_step).sum::<usize>()
    }
}

/// Returns the calls that may have acted, in their responses, without the texts of these. A response keeps
/// the data of its engine if it keeps its calls.
pub fn acts(steps: &[Arc<ModelStep>]) -> Vec<Arc<ModelStep>> {
    let acts_of = |step: &Arc<ModelStep>| {
        let calls = step.calls.iter().filter(|call| call.may_have_acted());
        let calls: Vec<_> = calls.map(ToolStep::remembered).collect();
        let is_whole = calls.len() == step.calls.len();
        (!calls.is_empty()).then(|| {
            Arc::new(ModelStep {
                response: ModelResponse {
                    engine: step.response.engine.clone(),
                    state: step.response.state.clone().filter(|_| is_whole),
                    ..ModelResponse::default()
                },
                calls,
            })
        })
    };
    steps.iter().filter_map(acts_of).collect()
}

/// Removes the data of the engines, which only continue the turn that received it.
pub fn without_state(steps: &[Arc<ModelStep>]) -> Vec<Arc<ModelStep>> {
    let without = |step: &Arc<ModelStep>| {
        let mut step = Arc::clone(step);
        if step.response.state.is_some() {
            Arc::make_mut(&mut step).response.state = None;
        }
        step
    };
    steps.iter().map(without).collect()
}

impl ToolStep {
    /// Returns whether the call may have changed something that a second call would change again.
    pub fn may_have_acted(&self) -> bool {
        let status = self.end.as_ref().map(|end| end.status.as_str());
        let was_made = match status {
            Some(status) => !NOT_MADE.contains(&status),
            None => self.may_have_begun(),
        };
        was_made && self.repetition != Repetition::Harmless
    }

    /// Returns the call as later turns see it.
    fn remembered(&self) -> Self {
        let mut end = self.settled_end(Unanswered::Dismissed).into_owned();
        if end.result.len() > PAST_RESULT_BYTES {
            end.result
                .truncate(end.result.floor_char_boundary(PAST_RESULT_BYTES));
            end.result.shrink_to_fit();
            end.is_cut = true;
        }
        Self {
            end: Some(end),
            call_id: self.call_id.clone(),
            name: self.name.clone(),
            function: self.function.clone(),
            arguments: self.effective_text().to_owned(),
            wait: None,
            ..*self
        }
    }

    fn end_bytes(&self) -> usize {
        self.end.as_ref().map_or(0, |end| end.status.len())
    }
}
