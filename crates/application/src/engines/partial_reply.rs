//! A reply while an engine produces it.

use std::time::{Duration, Instant};

use domain::{
    ToolCall, ToolVisibility, TurnId, UnknownMembers,
    sizes::{ARGUMENT_LEVELS, TOOL_RESULT_BYTES, TURN_ARGUMENT_BYTES, TURN_RESULT_BYTES},
    tool_call::{is_nested_deeper, json_bytes},
};
use ports::{ReplyPart, ToolArguments};
use serde_json::Value;

/// The maximum size of a reply's text.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// The separator between the text before tool calls and the text after them.
const PARAGRAPH: &str = "\n\n";
/// The maximum size of all tool events without their arguments: some thousands of calls.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

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
    /// The start of the text of the current request to a model.
    section: usize,
    /// The bytes of all events without their arguments.
    event_bytes: usize,
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

    /// Starts the text of another request to the model. It becomes a paragraph of its own.
    pub(crate) fn start_section(&mut self) {
        self.section = self.text.len();
    }

    /// Returns the text of the current request to the model.
    pub(crate) fn section(&self) -> &str {
        let text = self.text.get(self.section..).unwrap_or_default();
        if self.needs_paragraph() {
            text.strip_prefix(PARAGRAPH).unwrap_or(text)
        } else {
            text
        }
    }

    /// Returns whether a separator precedes the text of the section.
    fn needs_paragraph(&self) -> bool {
        let before = self.text.get(..self.section).unwrap_or_default();
        !before.is_empty() && !before.ends_with('\n')
    }

    /// Appends text; returns false if it does not fit.
    #[must_use]
    pub(crate) fn push_text(&mut self, text: &str) -> bool {
        let starts_paragraph =
            self.text.len() == self.section && !text.is_empty() && self.needs_paragraph();
        let separator = if starts_paragraph { PARAGRAPH } else { "" };
        let fits = self.text.len() + separator.len() + text.len() <= MAX_TEXT_BYTES;
        if fits {
            self.text.push_str(separator);
            self.text.push_str(text);
        }
        fits
    }

    /// Adds a call that has started, and returns its index; `None` if it does not fit. Arguments
    /// always fit: those that are too deep or too large are omitted.
    pub(crate) fn begin_call(&mut self, turn: TurnId, begun: BegunCall) -> Option<usize> {
        let index = self.calls.len();
        self.push_event(index, false, begun.name.len()).then(|| {
            let call = ToolCall {
                id: format!("{turn}-{}", index + 1),
                at: self.text.len(),
                name: begun.name,
                arguments: self.keep_or_omit(Value::Object(begun.arguments)),
                status: String::new(),
                duration_ms: 0,
                result: None,
                visibility: begun.visibility,
                unknown: UnknownMembers::default(),
            };
            self.calls.push(CallEntry {
                call,
                open_since: Some(Instant::now()),
            });
            index
        })
    }

    /// Stores the outcome of the call with this index. Calls of one response can end in any order.
    pub(crate) fn settle_call(&mut self, index: usize, end: CallEnd) {
        let result = self.keep_result(end.result);
        let entry = &mut self.calls[index];
        entry.open_since = None;
        end.status.clone_into(&mut entry.call.status);
        let milliseconds = end.took.as_millis();
        entry.call.duration_ms = i64::try_from(milliseconds).unwrap_or(i64::MAX);
        entry.call.result = result;
    }

    /// Adds the event of the end of a settled call; returns false if it does not fit.
    #[must_use]
    pub(crate) fn end_call(&mut self, index: usize) -> bool {
        let texts = self.calls[index].call.status.len();
        self.push_event(index, true, texts)
    }

    /// Returns the id of the call with this index.
    pub(crate) fn call_id(&self, index: usize) -> String {
        self.calls[index].call.id.clone()
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

/// The start of a tool call.
#[derive(Debug, Clone)]
pub(crate) struct BegunCall {
    /// The tool.
    pub(crate) name: String,
    /// The arguments.
    pub(crate) arguments: ToolArguments,
    /// The configured visibility of the call to users.
    pub(crate) visibility: Option<ToolVisibility>,
}

/// The end of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallEnd {
    /// The status, as in [`ToolCall`].
    pub(crate) status: &'static str,
    /// The duration.
    pub(crate) took: Duration,
    /// The result, or the reason of the failure.
    pub(crate) result: String,
}

#[cfg(test)]
mod tests;
