//! The tool call of a rule: its arguments with placeholders, and its result.

use domain::{
    RuleCall, ToolStep, UnknownMembers,
    fault::{push_index, push_token},
    sizes::ARGUMENT_BYTES,
    tool_end::WAITS_FOR_STAFF,
};
use ports::{ModelRequest, RequestedCall};
use serde_json::{Map, Value};

use crate::template::{Placeholders, Template, Values};

/// The result of a call that the turn has no more calls for.
const NO_CALL_LEFT: &str = "no more calls in this turn";

type Members = Box<[(Box<str>, Argument)]>;

/// A call with placeholders in its arguments.
#[derive(Debug)]
pub(crate) struct CallTemplate {
    tool: Box<str>,
    arguments: Members,
}

/// The value of an argument, or a part of it.
#[derive(Debug)]
enum Argument {
    Text(Template),
    List(Box<[Self]>),
    Object(Members),
    /// A number, a boolean or null.
    Constant(Value),
}

impl CallTemplate {
    /// Parses the placeholders in the arguments of a call. Adds the pointers of texts with unknown
    /// ones, relative to the rule, to `unknown`.
    pub(crate) fn parse(
        call: &RuleCall,
        known: Placeholders<'_>,
        unknown: &mut Vec<String>,
    ) -> Self {
        let mut parser = Parser { known, unknown };
        let arguments = call.arguments.iter().flatten();
        Self {
            tool: call.tool.as_str().into(),
            arguments: parser.members(arguments, "/call/arguments"),
        }
    }

    /// Fills the placeholders in the arguments.
    pub(crate) fn fill(&self, values: &Values<'_>) -> RuleCall {
        let mut filler = Filler {
            values,
            bytes_left: ARGUMENT_BYTES,
        };
        RuleCall {
            tool: self.tool.clone().into(),
            arguments: Some(filler.members(&self.arguments)),
            unknown: UnknownMembers::default(),
        }
    }

    /// The size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.tool.len() + members_bytes(&self.arguments)
    }
}

impl Argument {
    fn bytes(&self) -> usize {
        let owned = match self {
            Self::Text(template) => template.bytes(),
            Self::List(items) => items.iter().map(Self::bytes).sum(),
            Self::Object(members) => members_bytes(members),
            Self::Constant(_) => 0,
        };
        size_of::<Self>() + owned
    }
}

fn members_bytes(members: &[(Box<str>, Argument)]) -> usize {
    let bytes =
        |(name, value): &(Box<str>, Argument)| size_of::<Box<str>>() + name.len() + value.bytes();
    members.iter().map(bytes).sum()
}

struct Parser<'a> {
    known: Placeholders<'a>,
    unknown: &'a mut Vec<String>,
}

impl Parser<'_> {
    fn members<'v>(
        &mut self,
        members: impl Iterator<Item = (&'v String, &'v Value)>,
        pointer: &str,
    ) -> Members {
        let parse = |(name, value): (&String, &Value)| {
            let mut pointer = pointer.to_owned();
            push_token(&mut pointer, name);
            (name.as_str().into(), self.value(value, pointer))
        };
        members.map(parse).collect()
    }

    fn value(&mut self, value: &Value, pointer: String) -> Argument {
        match value {
            Value::String(source) => match Template::parse(source, self.known) {
                Ok(template) => Argument::Text(template),
                Err(_unknown) => {
                    self.unknown.push(pointer);
                    Argument::Constant(Value::Null)
                }
            },
            Value::Array(items) => {
                let parse = |(index, item)| {
                    let mut pointer = pointer.clone();
                    push_index(&mut pointer, index);
                    self.value(item, pointer)
                };
                Argument::List(items.iter().enumerate().map(parse).collect())
            }
            Value::Object(inner) => Argument::Object(self.members(inner.iter(), &pointer)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Argument::Constant(value.clone()),
        }
    }
}

/// Fills arguments. Once they are too long for a call, which is then not made, the rest is omitted:
/// a message that is inserted many times would need much memory.
struct Filler<'a> {
    values: &'a Values<'a>,
    bytes_left: usize,
}

impl Filler<'_> {
    fn members(&mut self, members: &[(Box<str>, Argument)]) -> Map<String, Value> {
        let members = members.iter();
        let filled = members.map(|(name, value)| (name.clone().into(), self.value(value)));
        filled.collect()
    }

    fn value(&mut self, argument: &Argument) -> Value {
        match argument {
            Argument::Text(_) if self.bytes_left == 0 => String::new().into(),
            Argument::Text(template) => {
                let text = template.fill(self.values).text;
                self.bytes_left = self.bytes_left.saturating_sub(text.len());
                text.into()
            }
            Argument::List(items) => items.iter().map(|item| self.value(item)).collect(),
            Argument::Object(members) => self.members(members).into(),
            Argument::Constant(value) => value.clone(),
        }
    }
}

/// Returns whether a text in the arguments has a property.
pub(crate) fn any_text(call: &RuleCall, has: &impl Fn(&str) -> bool) -> bool {
    fn is_in(value: &Value, has: &impl Fn(&str) -> bool) -> bool {
        match value {
            Value::String(text) => has(text),
            Value::Array(items) => items.iter().any(|item| is_in(item, has)),
            Value::Object(members) => members.values().any(|value| is_in(value, has)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    let mut arguments = call.arguments.iter().flatten();
    arguments.any(|(_, value)| is_in(value, has))
}

/// Returns the result of a call, or why there is none; `None` if the call is still to be made. A
/// rule calls its tool once in a turn, and never repeats a call that a step shows as made.
pub(crate) fn result_of(call: &RuleCall, request: &ModelRequest) -> Option<String> {
    let own_id = format!("{}-", request.turn_id);
    let is_made = |made: &&ToolStep| made.call_id.starts_with(&own_id) || is_equal(made, call);
    let steps = request.earlier_steps.iter().chain(&request.steps);
    let mut made = steps.rev().flat_map(|step| &step.calls);
    let result = made.find(is_made).map(text);
    result.or_else(|| (!request.may_call).then(|| NO_CALL_LEFT.to_owned()))
}

/// Returns the result of the call of another turn whose outcome the turn reports, unless that is `call`, the
/// one of the rule that matches now.
pub(crate) fn result_of_other_rule(
    call: Option<&RuleCall>,
    request: &ModelRequest,
) -> Option<String> {
    let own_id = format!("{}-", request.turn_id);
    let reported = request.steps.first()?.calls.first()?;
    let is_other = !call.is_some_and(|call| is_equal(reported, call));
    (is_other && !reported.call_id.starts_with(&own_id)).then(|| text(reported))
}

/// Returns the text of a result for the user, who reads it as a part of the reply.
fn text(made: &ToolStep) -> String {
    if made.waits_for_staff() {
        WAITS_FOR_STAFF.to_owned()
    } else {
        made.text()
    }
}

fn is_equal(made: &ToolStep, call: &RuleCall) -> bool {
    let arguments = || serde_json::from_str(&made.arguments).ok();
    made.name == call.tool && call.arguments == arguments()
}

/// Returns a call as a model asks for it. A tool that is not offered keeps its name.
pub(crate) fn requested(call: RuleCall, request: &ModelRequest) -> RequestedCall {
    let mut offered = request.tools.iter();
    let offered = offered.find(|tool| tool.definition.name == call.tool);
    RequestedCall {
        function: offered.map_or(call.tool, |tool| tool.function.clone()),
        arguments: Some(Value::Object(call.arguments.unwrap_or_default()).to_string()),
    }
}
