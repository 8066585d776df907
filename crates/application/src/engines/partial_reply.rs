//! A reply while an engine produces it.

use std::{mem, time::Instant};

use domain::{
    Repetition, ToolCall, ToolEnd, ToolStep, TurnStep, Unanswered, tool_call::KeptCallData,
    turn_step::resumptions,
};
use ports::ReplyPart;

pub(crate) use position::ReplyPosition;
use reasoning::PartialReasoning;

use super::request_log::RequestLog;

mod position;
mod reasoning;
mod text;

/// The maximum size of a reply's text.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// The separator between the text before tool calls and the text after them.
pub(crate) const PARAGRAPH: &str = "\n\n";
/// The maximum size of all tool events without their arguments: some thousands of calls.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// The reasoning, text and tool calls of a reply so far.
#[derive(Debug, Default, Clone)]
pub struct PartialReply {
    /// The engine that replies.
    pub engine: String,
    /// True if the engine is a fallback.
    pub degraded: bool,
    /// The model's reasoning so far. It is no output: another engine may still reply.
    pub(crate) reasoning: PartialReasoning,
    /// The text so far.
    pub text: String,
    /// The tool events, in order.
    pub tools: Vec<ToolEvent>,
    /// The requests to engines, in order; empty if another node sends them.
    pub(crate) requests: RequestLog,
    /// The tool calls, in order.
    calls: Vec<CallEntry>,
    /// The start of the text of the current request to a model.
    section: usize,
    /// The text of the current request to a model that nobody may receive, because it was not checked yet; `None`
    /// unless there is a schema.
    draft: Option<String>,
    /// The bytes of all events without their arguments.
    event_bytes: usize,
    /// What is kept of arguments and results.
    kept: KeptCallData,
    /// The number of times that the turn was resumed by another process, or by this one after a restart.
    /// The text is then another one.
    pub(crate) resumptions: u32,
    /// The position of its readers when the turn went on.
    pub(crate) continued_at: ReplyPosition,
}

/// A tool call, as far as it is known.
#[derive(Debug, Clone)]
struct CallEntry {
    /// The call, with its outcome once it has ended.
    call: ToolCall,
    /// The start of a call that has not ended.
    open_since: Option<Instant>,
    /// The effect of a second call.
    repetition: Repetition,
}

/// The status that is reported for a call that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenCallStatus {
    /// The call is running.
    Running,
    /// The turn has ended before the call.
    Cut,
}

impl OpenCallStatus {
    const fn of(self, entry: &CallEntry) -> &'static str {
        match (self, entry.repetition) {
            (Self::Running, _) if entry.call.needs.is_some() => ToolCall::WAITING,
            (Self::Running, _) => ToolCall::RUNNING,
            (Self::Cut, _) if entry.call.needs.is_some() => ToolCall::CANCELLED,
            (Self::Cut, Repetition::Harmless) => ToolCall::CANCELLED,
            (Self::Cut, Repetition::Acts | Repetition::HarmlessWithId) => ToolCall::OUTCOME_UNKNOWN,
        }
    }
}

impl PartialReply {
    /// Returns true if there is neither text nor a tool call.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.tools.is_empty()
    }

    /// Returns the tool calls in the order in which they were made.
    pub(crate) fn tool_calls(&self, open: OpenCallStatus) -> Vec<ToolCall> {
        let reported = |entry: &CallEntry| {
            let mut call = entry.call.clone();
            if open == OpenCallStatus::Cut && call.needs_of_user().is_some() {
                call.needs = None;
            }
            if let Some(since) = entry.open_since {
                open.of(entry).clone_into(&mut call.status);
                let milliseconds = since.elapsed().as_millis();
                call.duration_ms = i64::try_from(milliseconds).unwrap_or(i64::MAX);
            }
            call
        };
        self.calls.iter().map(reported).collect()
    }

    /// Returns a complete reply, as it was stored.
    pub(crate) fn restored(text: String, calls: Vec<ToolCall>) -> Self {
        let event = |call, at, has_ended| ToolEvent {
            at,
            call,
            has_ended,
        };
        let events = calls.iter().enumerate().flat_map(|(index, call)| {
            let end = call.has_returned().then(|| event(index, call.at, true));
            [event(index, call.at, false)].into_iter().chain(end)
        });
        Self {
            tools: events.collect(),
            calls: calls
                .into_iter()
                .map(|call| CallEntry {
                    call,
                    open_since: None,
                    repetition: Repetition::Acts,
                })
                .collect(),
            text,
            ..Self::default()
        }
    }

    /// Appends a part that another node has sent. Skips what is known already; returns false if the
    /// parts before it are missing.
    #[must_use]
    pub(crate) fn push_part(&mut self, part: ReplyPart) -> bool {
        match part {
            ReplyPart::Reasoning {
                from,
                text,
                shown_to,
            } => return self.reasoning.push_part(from, &text, shown_to),
            ReplyPart::Text { from, text } => {
                let Some(known) = self.text.len().checked_sub(from) else {
                    return false;
                };
                self.text.push_str(text.get(known..).unwrap_or_default());
            }
            ReplyPart::Tool {
                index,
                at,
                has_ended,
                call,
            } => {
                if self.tools.len() < index || self.text.len() < at {
                    return false;
                }
                if self.tools.len() == index {
                    let call = self.put_call(*call, has_ended);
                    self.tools.push(ToolEvent {
                        at,
                        call,
                        has_ended,
                    });
                }
            }
        }
        true
    }

    /// Adds a call or replaces it, and returns its index.
    fn put_call(&mut self, call: ToolCall, has_ended: bool) -> usize {
        let known = self.calls.iter().position(|it| it.call.id == call.id);
        let index = known.unwrap_or(self.calls.len());
        let entry = CallEntry {
            call,
            open_since: (!has_ended).then(Instant::now),
            repetition: Repetition::Acts,
        };
        match self.calls.get_mut(index) {
            Some(known) => *known = entry,
            None => self.calls.push(entry),
        }
        index
    }

    /// Takes the reply that another process has stored. If it continues this one, readers continue from
    /// their positions; otherwise it is another attempt, which they receive from the start.
    pub(crate) fn become_stored(&mut self, text: String, calls: Vec<ToolCall>) {
        let resumptions = self.resumptions + u32::from(!self.is_start_of(&text, &calls));
        self.complete_with(text, calls);
        self.resumptions = resumptions;
    }

    /// Adds everything that a stored reply contains and this one does not, so that readers can
    /// continue from their positions.
    pub(crate) fn complete_with(&mut self, text: String, calls: Vec<ToolCall>) {
        if !self.is_start_of(&text, &calls) {
            *self = Self {
                reasoning: mem::take(&mut self.reasoning),
                resumptions: self.resumptions,
                ..Self::restored(text, calls)
            };
            return;
        }
        self.text = text;
        for call in calls {
            let has_begun = self.calls.iter().any(|it| it.call.id == call.id);
            let (at, has_returned) = (call.at, call.has_returned());
            let index = self.put_call(call, true);
            let event = |has_ended| ToolEvent {
                at,
                call: index,
                has_ended,
            };
            if !has_begun {
                self.tools.push(event(false));
            }
            if has_returned && !self.tools.iter().any(|it| it.call == index && it.has_ended) {
                self.tools.push(event(true));
            }
        }
    }

    /// Returns whether a stored reply contains all of this one.
    fn is_start_of(&self, text: &str, calls: &[ToolCall]) -> bool {
        text.starts_with(&self.text) && self.has_only(calls)
    }

    /// Returns whether every call of this reply is one of `calls`.
    fn has_only(&self, calls: &[ToolCall]) -> bool {
        let is_known = |entry: &CallEntry| calls.iter().any(|call| call.id == entry.call.id);
        self.calls.iter().all(is_known)
    }

    /// Returns the call of an event.
    pub(crate) fn call_of(&self, event: ToolEvent) -> &ToolCall {
        &self.calls[event.call].call
    }

    /// Starts the text of another request to the model. It becomes a paragraph of its own.
    pub(crate) fn start_section(&mut self) {
        self.section = self.text.len();
        if let Some(draft) = &mut self.draft {
            draft.clear();
        }
    }

    /// Adds a call that has started, and returns its index; `None` if it does not fit. Arguments
    /// always fit: those that are too deep or too large are omitted.
    pub(crate) fn begin_call(&mut self, step: &ToolStep) -> Option<usize> {
        let index = self.calls.len();
        self.push_event(index, false, step.name.len()).then(|| {
            let call = step.begun(&mut self.kept);
            self.calls.push(CallEntry {
                call,
                open_since: Some(Instant::now()),
                // Nothing has been done yet.
                repetition: Repetition::Harmless,
            });
            if step.may_have_begun() {
                self.start_call(index, step);
            }
            index
        })
    }

    /// Notes that the call with this index is made from now on.
    pub(crate) fn start_call(&mut self, index: usize, step: &ToolStep) {
        self.calls[index].repetition = step.repetition;
    }

    /// Adds a call that waits for staff, and for which its turn does not wait. Returns its index.
    pub(crate) fn leave_to_staff(&mut self, step: &ToolStep) -> Option<usize> {
        let index = self.begin_call(step)?;
        let entry = &mut self.calls[index];
        entry.call = step.shown(&mut KeptCallData::default(), Unanswered::Waiting);
        entry.open_since = None;
        self.end_call(index).then_some(index)
    }

    /// Stores the outcome of the call with this index. Calls of one response can end in any order.
    pub(crate) fn settle_call(&mut self, index: usize, end: &ToolEnd) {
        let result = self.kept.keep_result(end);
        let entry = &mut self.calls[index];
        entry.open_since = None;
        entry.call.needs = None;
        entry.call.status.clone_from(&end.status);
        entry.call.duration_ms = end.duration_ms;
        entry.call.result = result;
    }

    /// Adds the event of the end of a settled call; returns false if it does not fit.
    #[must_use]
    pub(crate) fn end_call(&mut self, index: usize) -> bool {
        let texts = self.calls[index].call.status.len();
        self.push_event(index, true, texts)
    }

    /// Returns the number of calls.
    pub(crate) fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// Returns the empty reply of a turn that was resumed so many times.
    pub(crate) fn of_resumption(resumptions: u32) -> Self {
        Self {
            resumptions,
            ..Self::default()
        }
    }

    /// Returns the reply of a turn that goes on, as far as its journal has it. The text after the last
    /// tool calls is written anew. The ends of calls that were answered are new to its readers.
    pub(crate) fn resumed(journal: &[TurnStep]) -> Self {
        let mut reply = Self {
            requests: RequestLog::resumed(journal),
            ..Self::of_resumption(resumptions(journal))
        };
        let mut answered = Vec::new();
        for step in journal {
            // What was recorded once fits again.
            match step {
                TurnStep::Model(response) => {
                    reply.start_section();
                    reply.reasoning.push_recorded(response.reasoning.as_ref());
                    if !response.is_draft {
                        let _ = reply.push_text(&response.text);
                    }
                }
                TurnStep::Tool(call) if call.waits_for_staff() => {
                    let _ = reply.leave_to_staff(call);
                }
                TurnStep::Tool(call) => {
                    if let (Some(index), Some(end)) = (reply.begin_call(call), &call.end) {
                        reply.settle_call(index, end);
                        match call.wait {
                            Some(_) => answered.push(index),
                            None => _ = reply.end_call(index),
                        }
                    }
                }
                TurnStep::Resumed(_) | TurnStep::Unknown => {}
            }
        }
        reply.start_section();
        reply.continued_at = reply.end();
        for index in answered {
            let _ = reply.end_call(index);
        }
        reply
    }

    /// Adds a tool event with texts of this length; returns false if it does not fit.
    fn push_event(&mut self, call: usize, has_ended: bool, texts: usize) -> bool {
        let bytes = size_of::<ToolEvent>() + size_of::<CallEntry>() + texts;
        let fits = self.event_bytes + bytes <= MAX_EVENT_BYTES;
        if fits {
            self.event_bytes += bytes;
            self.tools.push(ToolEvent {
                at: self.text.len(),
                call,
                has_ended,
            });
        }
        fits
    }
}

/// The start or end of a tool call, and its position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolEvent {
    /// The length of the text before it, in bytes.
    pub at: usize,
    /// The index of the call.
    call: usize,
    /// True if this is the end of the call.
    pub has_ended: bool,
}

#[cfg(test)]
mod tests;
