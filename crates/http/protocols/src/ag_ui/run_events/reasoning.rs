//! The events of the model's reasoning.

use domain::ReasoningDelta;

use super::{super::event::RunEvent, RunEvents};

impl RunEvents {
    /// Adds reasoning that the client lacks. Each piece of it without text or calls between is a message, named by its
    /// position; also what a client lacks that has lost its stream.
    pub(super) fn add_reasoning(&mut self, delta: &ReasoningDelta) {
        let known = self.received.reasoning.max(self.seen.reasoning());
        let mut text = delta.after(known);
        if self.reasoning.is_none() {
            text = text.trim_start_matches('\n');
        }
        self.emitted.reasoning = delta.to;
        if text.is_empty() {
            return;
        }
        let message_id = if let Some(id) = self.reasoning.take() {
            id
        } else {
            let from = delta.to - text.len();
            let id = format!("{}-reasoning-{from}", self.reply.message_id());
            self.add(&RunEvent::ReasoningStart { message_id: &id });
            self.add(&RunEvent::ReasoningMessageStart {
                message_id: &id,
                role: "reasoning",
            });
            id
        };
        let event = RunEvent::ReasoningMessageContent {
            message_id: &message_id,
            delta: text,
        };
        self.ready.push(None, self.id(), &event);
        self.reasoning = Some(message_id);
    }

    pub(super) fn close_reasoning(&mut self) {
        if let Some(id) = self.reasoning.take() {
            self.add(&RunEvent::ReasoningMessageEnd { message_id: &id });
            self.add(&RunEvent::ReasoningEnd { message_id: &id });
        }
    }
}
