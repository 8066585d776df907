//! A reply while an engine produces it.

use std::time::Instant;

use domain::{
    ToolCall, TurnId, UnknownMembers,
    sizes::{ARGUMENT_LEVELS, TOOL_RESULT_BYTES, TURN_ARGUMENT_BYTES, TURN_RESULT_BYTES},
    tool_call::{is_nested_deeper, json_bytes},
};
use ports::{ReplyPart, ToolArguments, ToolReturn};
use serde_json::{Map, Value};

/// The maximum size of a reply's text.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// The maximum size of all tool steps without their arguments: some thousands of calls.
const MAX_STEP_BYTES: usize = 1024 * 1024;

/// The text and tool calls of a reply so far.
#[derive(Debug, Default, Clone)]
pub struct PartialReply {
    /// The engine that replies.
    pub engine: String,
    /// True if the engine is a fallback.
    pub degraded: bool,
    /// The text so far.
    pub text: String,
    /// The tool events, in order.
    pub tools: Vec<ToolEvent>,
    /// The tool calls, in order.
    calls: Vec<CallEntry>,
    /// The bytes of all steps without their arguments.
    step_bytes: usize,
    /// The bytes of the arguments that are stored.
    argument_bytes: usize,
    /// The bytes of the results that are stored.
    result_bytes: usize,
}

/// A tool call, as far as it is known.
#[derive(Debug, Clone)]
struct CallEntry {
    /// The call, with its outcome once it has ended.
    call: ToolCall,
    /// The start of a call that has not ended.
    open_since: Option<Instant>,
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
    const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Cut => "cancelled",
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
            if let Some(since) = entry.open_since {
                open.as_str().clone_into(&mut call.status);
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
        let events = calls
            .iter()
            .enumerate()
            .flat_map(|(index, call)| [event(index, call.at, false), event(index, call.at, true)]);
        Self {
            tools: events.collect(),
            calls: calls
                .into_iter()
                .map(|call| CallEntry {
                    call,
                    open_since: None,
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
                    let call = self.put_call(call, has_ended);
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
        };
        match self.calls.get_mut(index) {
            Some(known) => *known = entry,
            None => self.calls.push(entry),
        }
        index
    }

    /// Adds everything that a stored reply contains and this one does not, so that readers can
    /// continue from their positions.
    pub(crate) fn complete_with(&mut self, text: String, calls: Vec<ToolCall>) {
        if !text.starts_with(&self.text) || !self.has_only(&calls) {
            *self = Self::restored(text, calls);
            return;
        }
        self.text = text;
        for call in calls {
            let has_begun = self.calls.iter().any(|it| it.call.id == call.id);
            let at = call.at;
            let index = self.put_call(call, true);
            let event = |has_ended| ToolEvent {
                at,
                call: index,
                has_ended,
            };
            if !has_begun {
                self.tools.push(event(false));
            }
            if !self.tools.iter().any(|it| it.call == index && it.has_ended) {
                self.tools.push(event(true));
            }
        }
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

    /// Appends text; returns false if it does not fit.
    #[must_use]
    pub(crate) fn push_text(&mut self, text: &str) -> bool {
        let fits = self.text.len() + text.len() <= MAX_TEXT_BYTES;
        if fits {
            self.text.push_str(text);
        }
        fits
    }

    /// Appends a tool step; returns false if it does not fit. Arguments always fit: those that are
    /// too deep or too large are omitted.
    #[must_use]
    pub(crate) fn push_tool_step(&mut self, turn: TurnId, step: ToolStep) -> bool {
        let bytes = step.bytes_without_arguments();
        if self.step_bytes + bytes > MAX_STEP_BYTES {
            return false;
        }
        self.step_bytes += bytes;
        let (call, has_ended) = match step {
            ToolStep::Called { name, arguments } => (self.begin(turn, name, arguments), false),
            ToolStep::Returned(call) => (self.end(turn, call), true),
        };
        self.tools.push(ToolEvent {
            at: self.text.len(),
            call,
            has_ended,
        });
        true
    }

    /// Adds a call that has started, and returns its index.
    fn begin(&mut self, turn: TurnId, name: String, arguments: ToolArguments) -> usize {
        let index = self.calls.len();
        let call = ToolCall {
            id: format!("{turn}-{}", index + 1),
            at: self.text.len(),
            name,
            arguments: self.keep_or_omit(Value::Object(arguments)),
            status: String::new(),
            duration_ms: 0,
            result: None,
            unknown: UnknownMembers::default(),
        };
        self.calls.push(CallEntry {
            call,
            open_since: Some(Instant::now()),
        });
        index
    }

    /// Adds the end of a call, and returns the call's index. A call whose start was not reported
    /// starts with its end.
    fn end(&mut self, turn: TurnId, ended: ToolReturn) -> usize {
        let begun = self.find_open_call(&ended);
        let index = begun.unwrap_or_else(|| self.begin(turn, ended.name.clone(), Map::new()));
        if self.calls[index].call.arguments != ended.arguments {
            self.calls[index].call.arguments = self.keep_or_omit(ended.arguments);
        }
        let result = self.keep_result(ended.result);
        let entry = &mut self.calls[index];
        entry.open_since = None;
        entry.call.name = ended.name;
        entry.call.status = ended.status;
        entry.call.duration_ms = ended.duration_ms;
        entry.call.result = result;
        index
    }

    /// Finds the open call that has ended: the first with the same arguments, or else the first of
    /// the same tool.
    fn find_open_call(&self, ended: &ToolReturn) -> Option<usize> {
        let is_of_tool =
            |entry: &CallEntry| entry.open_since.is_some() && entry.call.name == ended.name;
        let has_same_arguments =
            |entry: &CallEntry| is_of_tool(entry) && entry.call.arguments == ended.arguments;
        let calls = || self.calls.iter();
        calls()
            .position(has_same_arguments)
            .or_else(|| calls().position(is_of_tool))
    }

    /// Returns the result, unless it is too large.
    fn keep_result(&mut self, result: String) -> Option<String> {
        let bytes = self.result_bytes + result.len();
        if result.len() > TOOL_RESULT_BYTES || bytes > TURN_RESULT_BYTES {
            return None;
        }
        self.result_bytes = bytes;
        Some(result)
    }

    /// Returns the arguments, or a placeholder if they are too deep or too large.
    fn keep_or_omit(&mut self, arguments: Value) -> Value {
        // Checked first: a reader of the turn could not parse them either.
        if is_nested_deeper(&arguments, ARGUMENT_LEVELS) {
            return ToolCall::omitted_arguments();
        }
        let bytes = json_bytes(&arguments);
        if self.argument_bytes + bytes > TURN_ARGUMENT_BYTES {
            return ToolCall::omitted_arguments();
        }
        self.argument_bytes += bytes;
        arguments
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

/// A step of a tool call, as an engine reports it.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolStep {
    /// The call has started.
    Called {
        /// The tool.
        name: String,
        /// The arguments.
        arguments: ToolArguments,
    },
    /// The call has ended.
    Returned(ToolReturn),
}

impl ToolStep {
    /// Returns the approximate memory.
    fn bytes_without_arguments(&self) -> usize {
        let texts = match self {
            Self::Called { name, .. } => name.len(),
            Self::Returned(call) => call.name.len() + call.status.len(),
        };
        size_of::<ToolEvent>() + size_of::<CallEntry>() + texts
    }
}

#[cfg(test)]
mod tests;
