//! What an engine has said so far, and done.

use std::time::Instant;

use domain::ToolCall;
use ports::ToolArguments;
use serde_json::Value;

/// A turn of more than this is refused as a bad answer: no engine is trusted with the memory.
const MOST_BYTES: usize = 1024 * 1024;

/// What an engine has said so far, and done.
#[derive(Debug, Default, Clone)]
pub struct Said {
    /// The engine that speaks.
    pub engine: String,
    /// Whether it is a fallback.
    pub degraded: bool,
    /// The text so far.
    pub text: String,
    /// The tools that were called, and what came of it, in order.
    pub tools: Vec<ToolEvent>,
    /// What the steps of tools hold.
    tool_bytes: usize,
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
        let mut calls: Vec<ToolCall> = Vec::new();
        let mut open = Vec::new();
        for event in &self.tools {
            match &event.step {
                ToolStep::Called { name, arguments } => {
                    open.push(calls.len());
                    let milliseconds = event.since.elapsed().as_millis();
                    calls.push(ToolCall {
                        name: name.clone(),
                        arguments: Value::Object(arguments.clone()),
                        status: unreturned.as_str().to_owned(),
                        duration_ms: i64::try_from(milliseconds).unwrap_or(i64::MAX),
                    });
                }
                ToolStep::Returned(call) => match take_begun(&mut open, &calls, call) {
                    Some(place) => calls[place] = call.clone(),
                    None => calls.push(call.clone()),
                },
            }
        }
        calls
    }

    /// Adds to the text, if there is room for it.
    #[must_use]
    pub(super) fn say(&mut self, text: &str) -> bool {
        let fits = self.has_room_for(text.len());
        if fits {
            self.text.push_str(text);
        }
        fits
    }

    /// Notes a step at the end of what was said, if there is room for it.
    #[must_use]
    pub(super) fn note(&mut self, step: ToolStep) -> bool {
        let bytes = step.bytes();
        let fits = self.has_room_for(bytes);
        if fits {
            self.tool_bytes += bytes;
            self.tools.push(ToolEvent {
                at: self.text.len(),
                since: Instant::now(),
                step,
            });
        }
        fits
    }

    fn has_room_for(&self, bytes: usize) -> bool {
        self.text.len() + self.tool_bytes + bytes <= MOST_BYTES
    }
}

/// Finds the call that has ended among those that are `open`: the first with the same arguments, or
/// else of the same tool.
fn take_begun(open: &mut Vec<usize>, calls: &[ToolCall], ended: &ToolCall) -> Option<usize> {
    let is_of_tool = |place: &usize| calls[*place].name == ended.name;
    let is_it = |place: &usize| is_of_tool(place) && calls[*place].arguments == ended.arguments;
    let position = open.iter().position(is_it);
    let position = position.or_else(|| open.iter().position(is_of_tool))?;
    Some(open.remove(position))
}

/// A step of a tool, and where in the text it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolEvent {
    /// How much was said before it, in bytes.
    pub at: usize,
    /// When it was made.
    since: Instant,
    /// What was done.
    pub step: ToolStep,
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
    fn bytes(&self) -> usize {
        match self {
            Self::Called { name, arguments } => {
                let of_arguments = arguments.iter().map(|(name, it)| name.len() + bytes_of(it));
                name.len() + of_arguments.sum::<usize>()
            }
            Self::Returned(call) => bytes_of_call(call),
        }
    }
}

/// How much memory a call takes, about.
pub(super) fn bytes_of_call(call: &ToolCall) -> usize {
    call.name.len() + call.status.len() + bytes_of(&call.arguments)
}

/// How much memory a value takes, about: its texts, and its place in what holds it.
fn bytes_of(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes_of).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| name.len() + bytes_of(member))
            .sum(),
    };
    size_of::<Value>() + inside
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn called(name: &str, arguments: &Value) -> ToolStep {
        ToolStep::Called {
            name: name.to_owned(),
            arguments: arguments.as_object().expect("an object").clone(),
        }
    }

    fn returned(name: &str, arguments: &Value, status: &str) -> ToolStep {
        ToolStep::Returned(ToolCall {
            name: name.to_owned(),
            arguments: arguments.clone(),
            status: status.to_owned(),
            duration_ms: 3,
        })
    }

    fn after(steps: Vec<ToolStep>) -> Said {
        let mut said = Said::default();
        for step in steps {
            assert!(said.note(step), "there is room");
        }
        said
    }

    /// Name, arguments and status of each call.
    fn told(said: &Said, unreturned: Unreturned) -> Vec<(String, Value, String)> {
        let calls = said.tool_calls(unreturned).into_iter();
        let told = calls.map(|call| (call.name, call.arguments, call.status));
        told.collect()
    }

    #[test]
    fn calls_are_told_in_the_order_in_which_they_were_made() {
        let (one, two) = (json!({"zone": "UTC"}), json!({"zone": "Asia/Tokyo"}));
        let said = after(vec![
            called("time", &one),
            called("time", &two),
            called("sum", &json!({})),
            returned("time", &two, "failed"),
            returned("sum", &json!({}), "ok"),
        ]);
        for (unreturned, status) in [
            (Unreturned::Running, "running"),
            (Unreturned::Cut, "cancelled"),
        ] {
            let expected = [
                ("time".to_owned(), one.clone(), status.to_owned()),
                ("time".to_owned(), two.clone(), "failed".to_owned()),
                ("sum".to_owned(), json!({}), "ok".to_owned()),
            ];
            assert_eq!(told(&said, unreturned), expected);
        }
    }

    #[test]
    fn a_call_is_told_once_whatever_an_engine_says_of_its_end() {
        let (given, read) = (json!({"a": "1"}), json!({"a": 1}));
        let said = after(vec![
            called("sum", &given),
            returned("sum", &read, "ok"),
            returned("time", &json!({}), "failed"),
        ]);
        let expected = [
            ("sum".to_owned(), read, "ok".to_owned()),
            ("time".to_owned(), json!({}), "failed".to_owned()),
        ];
        assert_eq!(told(&said, Unreturned::Cut), expected);
    }

    #[test]
    fn text_and_calls_have_one_bound() {
        let mut said = Said::default();
        assert!(said.say(&"x".repeat(MOST_BYTES / 2)));
        let large = json!({"a": ["x".repeat(MOST_BYTES / 4)]});
        assert!(said.note(called("sum", &large)));
        assert!(!said.note(returned("sum", &large, "ok")));
        assert!(!said.say(&"x".repeat(MOST_BYTES / 4)));
        assert!(said.say("x"));
        assert_eq!((said.text.len(), said.tools.len()), (MOST_BYTES / 2 + 1, 1));
    }

    #[test]
    fn numbers_take_memory_too() {
        let numbers = json!(vec![1; 1_000]);
        assert!(bytes_of(&numbers) >= 1_000 * size_of::<Value>());
    }
}
