//! What an engine has said so far, and done.

use std::time::Instant;

use domain::{
    ToolCall,
    sizes::{ARGUMENT_LEVELS, TURN_ARGUMENT_BYTES},
    tool_call::{is_nested_deeper, json_bytes},
};
use ports::ToolArguments;
use serde_json::Value;

/// A text of more than this is refused: no engine is trusted with the memory.
const MOST_TEXT_BYTES: usize = 1024 * 1024;
/// The same of what calls take but for their arguments: some thousands of them.
const MOST_STEP_BYTES: usize = 1024 * 1024;

/// What an engine has said so far, and done.
#[derive(Debug, Default, Clone)]
pub struct Said {
    /// The engine that speaks.
    pub engine: String,
    /// Whether it is a fallback.
    pub degraded: bool,
    /// The text so far.
    pub text: String,
    /// What was done with tools, in order.
    pub tools: Vec<ToolEvent>,
    /// The tools that were called, in order.
    calls: Vec<MadeCall>,
    /// What steps and calls take but for the arguments.
    step_bytes: usize,
    /// What the arguments take that are kept.
    argument_bytes: usize,
}

/// A call, as far as it is known.
#[derive(Debug, Clone)]
struct MadeCall {
    /// What it is, and how it ended if it has.
    call: ToolCall,
    /// When it was made, until it has ended.
    open_since: Option<Instant>,
}

/// What is told of a call that has not ended, as its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreturned {
    /// It goes on.
    Running,
    /// Its turn has ended before it.
    Cut,
}

impl Unreturned {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Cut => "cancelled",
        }
    }
}

impl Said {
    /// Whether nothing was said and nothing done.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.tools.is_empty()
    }

    /// The calls, in the order in which they were made.
    pub(crate) fn tool_calls(&self, unreturned: Unreturned) -> Vec<ToolCall> {
        let told = |made: &MadeCall| {
            let mut call = made.call.clone();
            if let Some(since) = made.open_since {
                unreturned.as_str().clone_into(&mut call.status);
                let milliseconds = since.elapsed().as_millis();
                call.duration_ms = i64::try_from(milliseconds).unwrap_or(i64::MAX);
            }
            call
        };
        self.calls.iter().map(told).collect()
    }

    /// The call that something was done with.
    pub(super) fn call_of(&self, event: ToolEvent) -> &ToolCall {
        &self.calls[event.call].call
    }

    /// Adds to the text, if there is room for it.
    #[must_use]
    pub(super) fn say(&mut self, text: &str) -> bool {
        let fits = self.text.len() + text.len() <= MOST_TEXT_BYTES;
        if fits {
            self.text.push_str(text);
        }
        fits
    }

    /// Notes a step at the end of what was said, if there is room for it. There always is for
    /// arguments: those that are too deep or too many are not kept.
    #[must_use]
    pub(super) fn note(&mut self, step: ToolStep) -> bool {
        let bytes = step.bytes_without_arguments();
        if self.step_bytes + bytes > MOST_STEP_BYTES {
            return false;
        }
        self.step_bytes += bytes;
        let (call, has_ended) = match step {
            ToolStep::Called { name, arguments } => (self.begin(name, arguments), false),
            ToolStep::Returned(call) => (self.end(call), true),
        };
        self.tools.push(ToolEvent {
            at: self.text.len(),
            call,
            has_ended,
        });
        true
    }

    /// Notes a call that was made; answers its place.
    fn begin(&mut self, name: String, arguments: ToolArguments) -> usize {
        let call = ToolCall {
            name,
            arguments: self.keep(Value::Object(arguments)),
            status: String::new(),
            duration_ms: 0,
        };
        self.calls.push(MadeCall {
            call,
            open_since: Some(Instant::now()),
        });
        self.calls.len() - 1
    }

    /// Notes that a call has ended; answers its place.
    fn end(&mut self, mut ended: ToolCall) -> usize {
        let begun = self.find_begun(&ended);
        let is_known = |place: usize| self.calls[place].call.arguments == ended.arguments;
        if !begun.is_some_and(is_known) {
            ended.arguments = self.keep(ended.arguments);
        }
        let ended = MadeCall {
            call: ended,
            open_since: None,
        };
        if let Some(place) = begun {
            self.calls[place] = ended;
            return place;
        }
        self.calls.push(ended);
        self.calls.len() - 1
    }

    /// Finds the call that has ended among those that are open: the first with the same arguments,
    /// or else of the same tool.
    fn find_begun(&self, ended: &ToolCall) -> Option<usize> {
        let is_of_tool =
            |made: &MadeCall| made.open_since.is_some() && made.call.name == ended.name;
        let is_it = |made: &MadeCall| is_of_tool(made) && made.call.arguments == ended.arguments;
        let calls = || self.calls.iter();
        calls()
            .position(is_it)
            .or_else(|| calls().position(is_of_tool))
    }

    /// The arguments, if they can be kept, or what stands for them.
    fn keep(&mut self, arguments: Value) -> Value {
        // Before anything else goes through all of them: who reads the turn could not.
        if is_nested_deeper(&arguments, ARGUMENT_LEVELS) {
            return ToolCall::left_out();
        }
        let bytes = json_bytes(&arguments);
        if self.argument_bytes + bytes > TURN_ARGUMENT_BYTES {
            return ToolCall::left_out();
        }
        self.argument_bytes += bytes;
        arguments
    }
}

/// A step of a tool, and where in the text it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolEvent {
    /// How much was said before it, in bytes.
    pub at: usize,
    /// The place of the call.
    call: usize,
    /// Whether it has ended, or else was made.
    pub has_ended: bool,
}

/// Something that an engine did with a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolStep {
    /// It calls one.
    Called {
        /// The tool.
        name: String,
        /// What it is given.
        arguments: ToolArguments,
    },
    /// The call has ended.
    Returned(ToolCall),
}

impl ToolStep {
    /// How much memory it takes, about.
    fn bytes_without_arguments(&self) -> usize {
        let texts = match self {
            Self::Called { name, .. } => name.len(),
            Self::Returned(call) => call.name.len() + call.status.len(),
        };
        size_of::<ToolEvent>() + size_of::<MadeCall>() + texts
    }
}

#[cfg(test)]
mod tests;
