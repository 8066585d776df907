//! Collects the response to one request.

use std::{borrow::Cow, mem::take};

use domain::{FinishReason, Usage};

use crate::{
    error::LlmError, step_state::KeptBlock, thoughts::ThoughtFilter,
    tool_call_accumulator::ToolCallAccumulator,
};

/// The maximum number of bytes that are kept of one response: text, reasoning and tool calls.
pub(crate) const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

/// The response to one request so far, limited by [`MAX_RESPONSE_BYTES`]. Does not implement
/// `Debug`, since none of it may be logged.
#[derive(Default)]
pub(crate) struct ResponseAccumulator {
    pub(crate) text: String,
    /// The number of bytes of the text that [`Self::take_new_text`] has returned.
    taken: usize,
    pub(crate) thoughts: ThoughtFilter,
    /// The reasoning that the server may want to see again.
    pub(crate) reasoning: String,
    /// The reasoning that [`Self::take_new_reasoning`] returns next; `None` if nobody may see any.
    new_reasoning: Option<String>,
    /// The number of bytes of reasoning that was shown and not kept.
    shown_bytes: usize,
    /// Precedes the first reasoning that is shown.
    reasoning_prefix: &'static str,
    /// Reasoning was shown.
    pub(crate) has_shown_reasoning: bool,
    /// Parts that the server requires back with its calls.
    pub(crate) kept: Vec<KeptBlock>,
    /// The number of their bytes.
    kept_bytes: usize,
    pub(crate) calls: ToolCallAccumulator,
    pub(crate) finish_reason: Option<FinishReason>,
    /// More content followed a finish reason. Such a server sends a reason with every chunk, so a
    /// reason does not mark the end of the response.
    pub(crate) continues_after_finish_reason: bool,
    pub(crate) usage: Option<Usage>,
    /// The name of the model.
    pub(crate) model: Option<String>,
}

impl ResponseAccumulator {
    /// Creates a response whose reasoning is returned as it arrives. `is_repeated` separates it from the reasoning of
    /// an earlier try.
    pub(crate) fn showing_reasoning(is_repeated: bool) -> Self {
        Self {
            thoughts: ThoughtFilter::keeping(),
            new_reasoning: Some(String::new()),
            reasoning_prefix: if is_repeated { "\n\n" } else { "" },
            ..Self::default()
        }
    }

    /// Notes the model that a part of the response names; the first name counts.
    pub(crate) fn note_model(&mut self, name: &str) {
        if self.model.is_none() && !name.is_empty() {
            self.model = Some(name.to_owned());
        }
    }

    /// Returns whether text or a tool call has arrived. The request is not repeated after that.
    pub(crate) fn has_output(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    /// Returns whether the response is probably complete, before its stream has ended. The reason
    /// `Stop` without output does not count: some servers send it with every piece of reasoning.
    pub(crate) fn is_complete(&self) -> bool {
        match self.finish_reason {
            None => false,
            Some(FinishReason::Stop) => self.has_output() && !self.continues_after_finish_reason,
            Some(_) => !self.continues_after_finish_reason,
        }
    }

    /// Adds text of the reply, without NUL. If it fails, the text is not kept.
    pub(crate) fn push_text(&mut self, text: &str) -> Result<(), LlmError> {
        let before = self.text.len();
        self.continues_after_finish_reason |= self.finish_reason.is_some() && !text.is_empty();
        self.text.push_str(&self.thoughts.push(Cow::Borrowed(text)));
        let result = self.check_size();
        if result.is_err() {
            self.text.truncate(before);
        }
        result
    }

    /// Returns whether the text begins with a tag of thoughts, of which [`Self::decide_thoughts`] must
    /// be told whether it has a meaning.
    pub(crate) fn is_undecided(&self) -> bool {
        self.thoughts.is_undecided()
    }

    /// Decides whether tags of thoughts have a meaning.
    pub(crate) fn decide_thoughts(&mut self, has_think_tags: bool) {
        self.text.push_str(&self.thoughts.decide(has_think_tags));
    }

    /// Ends the text.
    pub(crate) fn finish_text(&mut self) {
        self.text.push_str(&self.thoughts.finish());
    }

    /// Returns the text since the last call.
    pub(crate) fn take_new_text(&mut self) -> String {
        let new = self.text[self.taken..].to_owned();
        self.taken = self.text.len();
        new
    }

    /// Returns the reasoning since the last call; none if nobody may see it.
    pub(crate) fn take_new_reasoning(&mut self) -> String {
        let mut new = self.new_reasoning.as_mut().map(take).unwrap_or_default();
        new.push_str(&self.thoughts.take());
        if new.is_empty() {
            return new;
        }
        self.has_shown_reasoning = true;
        take(&mut self.reasoning_prefix).to_owned() + &new
    }

    /// Adds text of the reply, which may contain NUL.
    pub(crate) fn push_reply(&mut self, text: Cow<'_, str>) -> Result<(), LlmError> {
        self.push_text(&replace_nul(text))
    }

    /// Adds reasoning that is returned once, if somebody may see it.
    pub(crate) fn show_reasoning(&mut self, text: Cow<'_, str>) {
        if let Some(new) = &mut self.new_reasoning {
            let text = replace_nul(text);
            self.shown_bytes += text.len();
            new.push_str(&text);
        }
    }

    /// Counts bytes of a part that the server requires back.
    pub(crate) fn count_kept(&mut self, bytes: usize) -> Result<(), LlmError> {
        self.kept_bytes += bytes;
        self.check_size()
    }

    /// Fails if the response is too large.
    pub(crate) fn check_size(&self) -> Result<(), LlmError> {
        if self.size() > MAX_RESPONSE_BYTES {
            return Err(LlmError::Malformed("the upstream's response is too large"));
        }
        Ok(())
    }

    /// Returns whether nothing of the response has arrived: neither text, reasoning nor a tool call.
    pub(crate) fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// The number of bytes that are kept.
    pub(crate) fn size(&self) -> usize {
        let reasoning = (self.reasoning.len() + self.kept_bytes).max(self.shown_bytes);
        self.text.len() + self.thoughts.bytes() + reasoning + self.calls.bytes()
    }
}

/// Replaces NUL, which stores cannot hold, with U+FFFD.
pub(crate) fn replace_nul(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        text
    }
}
