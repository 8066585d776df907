//! Reading the events of a response.

use std::{borrow::Cow, mem};

use domain::FinishReason;
use serde_json::{Map, Value, from_slice, from_str, value::RawValue};

use super::{
    event::{Block, Delta, Event, Message},
    usage::{SentCounts, TokenCounts},
};
use crate::{
    api::StreamState,
    chunk_template::ChunkTemplate,
    error::LlmError,
    response_accumulator::ResponseAccumulator,
    step_state::KeptBlock,
    surrogates::replace_lone_surrogates,
    tool_call_accumulator::{CallPart, FunctionPart},
    upstream_error::UpstreamError,
};

/// Separates texts between which there are other blocks.
const PARAGRAPH: &str = "\n\n";

/// Reads the events of one response.
#[derive(Default)]
pub(crate) struct EventReader {
    template: ChunkTemplate,
    counts: TokenCounts,
    /// A block of reasoning that has not ended.
    open: Option<KeptBlock>,
    /// Another block has followed the text so far.
    is_interrupted: bool,
    /// Another block has followed the reasoning so far.
    is_thought_interrupted: bool,
    has_thought: bool,
}

impl EventReader {
    /// Parses an event, or a whole response, and adds it to the response.
    pub(crate) fn push(
        &mut self,
        json: &[u8],
        key: Option<&str>,
        response: &mut ResponseAccumulator,
    ) -> Result<StreamState, LlmError> {
        let text = self.template.text(json);
        if let Some(text) = text.filter(|_| !self.is_interrupted) {
            response.push_text(text)?;
            return Ok(StreamState::Open);
        }
        if let Ok(event) = from_slice::<Event<'_>>(json) {
            let text = event.plain_text().filter(|_| !self.is_interrupted);
            self.template.remember(json, text);
            return self.take(event, json, key, response);
        }
        let repaired = replace_lone_surrogates(json).ok_or(LlmError::MALFORMED)?;
        let event = from_slice(&repaired).map_err(|_error| LlmError::MALFORMED)?;
        self.take(event, &repaired, key, response)
    }

    /// Adds the event that `json` contains. Types that only newer versions know are ignored.
    fn take(
        &mut self,
        event: Event<'_>,
        json: &[u8],
        key: Option<&str>,
        response: &mut ResponseAccumulator,
    ) -> Result<StreamState, LlmError> {
        if let Some(error) = event.error.filter(|error| !error.is_null()) {
            return Err(UpstreamError::read(None, &error, key).into());
        }
        match &*event.kind {
            "message" => {
                let message = from_slice(json).map_err(|_error| LlmError::MALFORMED)?;
                self.take_message(message, response)?;
            }
            "message_start" => {
                let message = event.message.unwrap_or_default();
                self.take_message(message, response)?;
            }
            "content_block_start" => {
                let block = event.content_block.ok_or(LlmError::MALFORMED)?;
                self.begin_block(event.index, block, response)?;
            }
            "content_block_delta" => {
                let delta = event.delta.unwrap_or_default();
                self.take_delta(event.index, delta, response)?;
            }
            "content_block_stop" => self.end_block(response),
            "message_delta" => {
                let delta = event.delta.unwrap_or_default();
                self.take_end(delta.stop_reason, event.usage.as_ref(), response);
            }
            "message_stop" => return Ok(StreamState::Done),
            _ => {}
        }
        Ok(StreamState::Open)
    }

    fn take_message(
        &mut self,
        message: Message<'_>,
        response: &mut ResponseAccumulator,
    ) -> Result<(), LlmError> {
        response.note_model(&message.model);
        for (index, block) in (0..).zip(message.content.unwrap_or_default()) {
            self.begin_block(Some(index), block, response)?;
            self.end_block(response);
        }
        self.take_end(message.stop_reason, message.usage.as_ref(), response);
        Ok(())
    }

    fn begin_block(
        &mut self,
        index: Option<u32>,
        json: &RawValue,
        response: &mut ResponseAccumulator,
    ) -> Result<(), LlmError> {
        self.end_block(response);
        let block: Block<'_> = from_str(json.get()).map_err(|_error| LlmError::MALFORMED)?;
        match &*block.kind {
            "text" => return self.push_text(block.text, response),
            "thinking" | "redacted_thinking" => self.begin_reasoning(json, response)?,
            "tool_use" => {
                let has_arguments = |input: &&RawValue| input.get() != "{}";
                let arguments = block.input.filter(has_arguments);
                let function = FunctionPart {
                    name: block.name,
                    arguments: arguments.map(|input| input.get().to_owned()),
                };
                response.calls.push(vec![CallPart {
                    index,
                    id: block.id,
                    function: Some(function),
                    extra_content: None,
                }])?;
            }
            _ => {}
        }
        self.is_interrupted = !response.text.is_empty();
        Ok(())
    }

    /// Begins a block of reasoning. It goes back with the calls as it was sent, with its signature.
    fn begin_reasoning(
        &mut self,
        json: &RawValue,
        response: &mut ResponseAccumulator,
    ) -> Result<(), LlmError> {
        let block: Map<String, Value> =
            from_str(json.get()).map_err(|_error| LlmError::MALFORMED)?;
        self.is_thought_interrupted = self.has_thought;
        if let Some(text) = block.get("thinking").and_then(Value::as_str) {
            self.show_reasoning(text.into(), response);
        }
        response.count_kept(json.get().len())?;
        self.open = Some(KeptBlock {
            text_bytes: response.text.len(),
            calls: response.calls.len(),
            block,
        });
        Ok(())
    }

    fn end_block(&mut self, response: &mut ResponseAccumulator) {
        response.kept.extend(self.open.take());
    }

    fn take_delta(
        &mut self,
        index: Option<u32>,
        delta: Delta<'_>,
        response: &mut ResponseAccumulator,
    ) -> Result<(), LlmError> {
        match &*delta.kind {
            "text_delta" => self.push_text(delta.text, response),
            "thinking_delta" => {
                self.extend_reasoning("thinking", &delta.thinking);
                let bytes = delta.thinking.len();
                self.show_reasoning(delta.thinking, response);
                response.count_kept(bytes)
            }
            "signature_delta" => {
                self.extend_reasoning("signature", &delta.signature);
                response.count_kept(delta.signature.len())
            }
            "input_json_delta" => response.calls.push(vec![CallPart {
                index,
                function: Some(FunctionPart {
                    name: None,
                    arguments: delta.partial_json,
                }),
                ..CallPart::default()
            }]),
            _ => Ok(()),
        }
    }

    fn push_text(
        &mut self,
        text: Cow<'_, str>,
        response: &mut ResponseAccumulator,
    ) -> Result<(), LlmError> {
        if text.is_empty() {
            return Ok(());
        }
        if mem::take(&mut self.is_interrupted) {
            response.push_text(PARAGRAPH)?;
        }
        response.push_reply(text)
    }

    fn show_reasoning(&mut self, text: Cow<'_, str>, response: &mut ResponseAccumulator) {
        if text.is_empty() {
            return;
        }
        self.has_thought = true;
        if mem::take(&mut self.is_thought_interrupted) {
            response.show_reasoning(PARAGRAPH.into());
        }
        response.show_reasoning(text);
    }

    fn extend_reasoning(&mut self, member: &str, addition: &str) {
        let Some(open) = &mut self.open else {
            return;
        };
        match open.block.get_mut(member) {
            Some(Value::String(text)) => text.push_str(addition),
            _ => drop(open.block.insert(member.to_owned(), addition.into())),
        }
    }

    fn take_end(
        &mut self,
        stop_reason: Option<String>,
        usage: Option<&SentCounts<'_>>,
        response: &mut ResponseAccumulator,
    ) {
        if let Some(usage) = usage {
            self.counts.update(usage);
            response.usage = self.counts.usage();
        }
        if let Some(reason) = stop_reason {
            self.end_block(response);
            response.finish_reason = Some(read_stop_reason(&reason));
        }
    }
}

/// An unknown reason still shows that the response is complete, so it counts as `Stop`.
fn read_stop_reason(word: &str) -> FinishReason {
    match word {
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        _ => FinishReason::Stop,
    }
}
