//! One tool call: its check, its execution, and its result for the model.

use std::time::Duration;

use domain::{
    AgentConfig, Repetition, Timestamp, ToolCall, ToolEnd, ToolEntry, ToolStep,
    large_integers::has_large_integer, sizes::ARGUMENT_LEVELS, tool_call::is_nested_deeper,
};
use ports::{AgentTool, ModelRequest, RequestedCall, ToolContext, ToolError};
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};

use super::permission::{permission, visibility};
use crate::toolbox::function_names;

/// The time limit of a call, unless the agent or the tool has its own.
const MAX_CALL_TIME: Duration = Duration::from_secs(15);
/// The maximum number of bytes of the arguments.
const MAX_ARGUMENT_BYTES: usize = domain::sizes::ARGUMENT_BYTES;

/// The reason that a call was not executed or failed, in words for the model.
pub(super) struct Failure {
    status: &'static str,
    reason: String,
}

impl Failure {
    fn new(status: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { status, reason }
    }

    fn unavailable() -> Self {
        Self::new(ToolCall::UNAVAILABLE, "the tool is unavailable")
    }

    pub(super) fn unrecorded() -> Self {
        Self::new(ToolCall::UNAVAILABLE, "not available in an unrecorded chat")
    }

    fn end(self) -> ToolEnd {
        ToolEnd::new(self.status, self.reason, Duration::ZERO)
    }
}

/// A tool call after its check.
pub(super) struct CheckedCall {
    /// The entry of the journal, with an end if the check has failed.
    pub(super) step: ToolStep,
    /// The tool, unless the check has failed.
    pub(super) tool: Option<AgentTool>,
}

impl CheckedCall {
    /// Checks a call, which gets this id. `may_run` is `false` if the turn has no call left. `at` is the
    /// length of the reply's text before it. A call that must wait can be answered until `expires_at`;
    /// `None` if the turn is not stored.
    pub(super) fn new(
        requested: RequestedCall,
        request: &ModelRequest,
        (call_id, at): (String, usize),
        may_run: bool,
        expires_at: Option<Timestamp>,
    ) -> Self {
        let offered = find(&request.tools, &requested.function);
        let unavailable = match offered {
            Some(_) => None,
            None => find_unavailable(&request.unavailable_tools, &requested.function),
        };
        let config = &request.agent.config;
        let failure = if may_run {
            refusal(
                &requested,
                request,
                (offered, unavailable),
                expires_at.is_some(),
            )
        } else {
            Some(Failure::new(
                ToolCall::TOO_MANY,
                "no more calls in this turn",
            ))
        };
        let name = offered.map(|tool| tool.definition.name.as_str());
        let name = name.or(unavailable);
        let (wait, failure) = match (offered, failure) {
            (Some(tool), None) => match permission(tool, config, expires_at) {
                Ok(wait) => (wait, None),
                Err(failure) => (None, Some(failure)),
            },
            (_, failure) => (None, failure),
        };
        let tool = offered.filter(|_| failure.is_none()).cloned();
        Self {
            step: ToolStep {
                call_id,
                visibility: visibility(name, wait.as_deref(), config),
                name: name.map_or_else(|| printable_name(&requested.function), str::to_owned),
                function: match offered {
                    Some(tool) => tool.function.clone(),
                    None => function_names(&[&requested.function]).remove(0),
                },
                arguments: object_text(requested.arguments),
                at,
                repetition: match &tool {
                    Some(tool) => repetition(tool),
                    // It is not made.
                    None => Repetition::Harmless,
                },
                wait,
                timeout_ms: offered.map(|tool| milliseconds(time_limit(tool, config))),
                end: failure.map(Failure::end),
            },
            tool,
        }
    }

    /// Prepares to make a call of a turn that goes on: one that was approved, or one whose process has
    /// died, if that is harmless. Otherwise it ends with an unknown outcome. A call that has ended keeps
    /// its end. `resumptions` is the number of times that the turn was resumed since the call was recorded.
    pub(super) fn again(mut step: ToolStep, request: &ModelRequest, resumptions: u32) -> Self {
        let mut tools = request.tools.iter();
        let tool = tools.find(|it| it.definition.name == step.name);
        let is_approved = step.wait.as_ref().is_some_and(|wait| !wait.has_begun);
        let may_run = is_approved || step.repetition != Repetition::Acts;
        if step.end.is_none() {
            match &mut step.wait {
                Some(wait) if tool.is_some() && may_run => wait.begin(resumptions),
                None if tool.is_some() && may_run => {}
                _ if is_approved => step.end = Some(Failure::unavailable().end()),
                _ => step.end = Some(ToolEnd::outcome_unknown()),
            }
        }
        let tool = tool.filter(|_| step.end.is_none()).cloned();
        Self { step, tool }
    }

    /// Ends the call, because an equal one waits already.
    pub(super) fn dismiss(&mut self) {
        let result = "The same call already waits for approval".to_owned();
        self.step.end = Some(ToolEnd::new(ToolCall::DISMISSED, result, Duration::ZERO));
        self.tool = None;
    }

    /// Returns what is necessary to make the call; `None` if it has ended.
    pub(super) fn to_make(&self) -> Option<(ToolStep, AgentTool)> {
        let may_run = self.step.end.is_none() && !self.step.is_waiting();
        let tool = self.tool.as_ref().filter(|_| may_run)?;
        Some((self.step.clone(), tool.clone()))
    }
}

/// Returns why a call of these arguments is not made, whoever approves it. `offered` is its tool, or
/// `unavailable` the name of one that the agent has, but not now.
fn refusal(
    requested: &RequestedCall,
    request: &ModelRequest,
    (offered, unavailable): (Option<&AgentTool>, Option<&str>),
    is_recorded: bool,
) -> Option<Failure> {
    let is_of_client = |name| {
        let entry = request.agent.config.tool_entry(name);
        entry.is_some_and(ToolEntry::is_of_client)
    };
    match (offered, unavailable, requested.arguments.as_deref()) {
        (Some(_), _, Some(arguments)) => check_arguments(arguments).err(),
        (Some(_), _, None) => {
            let reason = "the arguments did not arrive; call the tool again";
            Some(Failure::new("invalid_arguments", reason))
        }
        (None, Some(name), _) if !is_recorded && is_of_client(name) => Some(Failure::unrecorded()),
        (None, Some(_), _) => Some(Failure::unavailable()),
        (None, None, _) => Some(Failure::new("unknown_tool", unknown_reason(&request.tools))),
    }
}

/// Makes a call within its time limit, and returns its end.
pub(super) async fn make_call(step: &ToolStep, tool: &AgentTool, context: &ToolContext) -> ToolEnd {
    let began = Instant::now();
    let arguments = step.effective_arguments();
    let time = step.timeout_ms.map_or(MAX_CALL_TIME, Duration::from_millis);
    let uncertain = |reason: &str| match step.repetition {
        Repetition::Harmless => reason.to_owned(),
        Repetition::Acts | Repetition::HarmlessWithId => {
            format!("{reason}; the call may or may not have taken effect")
        }
    };
    let (status, text) = match timeout(time, tool.call(&arguments, context)).await {
        Ok(Ok(text)) => (ToolCall::OK, text),
        Ok(Err(ToolError::InvalidArguments(reason))) => ("invalid_arguments", reason),
        Ok(Err(ToolError::Failed(reason))) => (ToolCall::FAILED, reason),
        Ok(Err(ToolError::Unreadable(reason))) => (ToolCall::FAILED, uncertain(&reason)),
        Ok(Err(ToolError::Unavailable(_))) => {
            let Failure { status, reason } = Failure::unavailable();
            (status, reason)
        }
        Ok(Err(ToolError::Lost(_))) => {
            (ToolCall::UNAVAILABLE, uncertain("the connection was lost"))
        }
        Err(_) => ("timed_out", uncertain("the tool took too long")),
    };
    ToolEnd::new(status, text, began.elapsed())
}

/// Returns what a second call of a tool would do.
fn repetition(tool: &AgentTool) -> Repetition {
    let hints = tool.definition.hints;
    match () {
        () if hints.read_only == Some(true) || hints.idempotent == Some(true) => {
            Repetition::Harmless
        }
        () if hints.is_repeatable => Repetition::HarmlessWithId,
        () => Repetition::Acts,
    }
}

/// Returns the time limit of a call.
fn time_limit(tool: &AgentTool, config: &AgentConfig) -> Duration {
    let of_agent = config
        .tool_entry(&tool.definition.name)
        .and_then(ToolEntry::timeout);
    let time = of_agent.or_else(|| tool.provider.as_ref()?.call_timeout());
    time.unwrap_or(MAX_CALL_TIME)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Finds a tool by its function name.
fn find<'t>(tools: &'t [AgentTool], function: &str) -> Option<&'t AgentTool> {
    let found = |name: &str| tools.iter().find(|tool| tool.function == name);
    found(function).or_else(|| found(without_decoration(function)))
}

/// Removes what some models write around a name: a namespace before it, and a token that begins with
/// `<|` after it.
fn without_decoration(function: &str) -> &str {
    let name = function.split("<|").next().unwrap_or_default().trim();
    name.strip_prefix("functions.").unwrap_or(name)
}

/// Finds an unavailable tool by its function name or its name.
fn find_unavailable<'n>(names: &'n [String], function: &str) -> Option<&'n str> {
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut candidates = function_names(&names).into_iter().zip(names);
    let found = candidates.find(|(name_of, name)| name_of == function || *name == function);
    found.map(|(_, name)| name)
}

/// The reason that there is no such tool, for the model.
fn unknown_reason(tools: &[AgentTool]) -> String {
    let names: Vec<_> = tools.iter().map(|tool| tool.function.as_str()).collect();
    if names.is_empty() {
        "there are no tools".to_owned()
    } else {
        format!("there is no such tool; the tools are: {}", names.join(", "))
    }
}

/// Returns the beginning of the name of an unknown tool, up to what no name of a tool contains: models
/// write arguments there too, which users may not see.
fn printable_name(name: &str) -> String {
    let is_of_name = |letter: &char| letter.is_ascii_alphanumeric() || "_./-".contains(*letter);
    let beginning: String = name.chars().take_while(is_of_name).take(64).collect();
    if beginning.is_empty() {
        "unknown".to_owned()
    } else {
        beginning
    }
}

/// Checks that arguments are an object that a tool can receive. Missing ones are an empty object.
fn check_arguments(text: &str) -> Result<(), Failure> {
    let invalid = |reason: &str| Err(Failure::new("invalid_arguments", reason));
    if text.len() > MAX_ARGUMENT_BYTES {
        return invalid("the arguments are too long");
    }
    if text.trim().is_empty() {
        return Ok(());
    }
    match serde_json::from_str::<Value>(text) {
        // The tool would receive a different, rounded number.
        Ok(_) if has_large_integer(text) => {
            invalid("an integer in the arguments is longer than 64 bits")
        }
        Ok(arguments) if is_nested_deeper(&arguments, ARGUMENT_LEVELS) => {
            invalid("the arguments are nested too deeply")
        }
        Ok(Value::Object(_) | Value::Null) => Ok(()),
        Ok(_) => invalid("the arguments are not a JSON object"),
        Err(_) => invalid("the arguments are not valid JSON"),
    }
}

/// Returns the arguments for the next request. Some servers reject arguments that are not a JSON
/// object, even if the model wrote them.
pub(crate) fn object_text(arguments: Option<String>) -> String {
    let is_object = |text: &String| serde_json::from_str::<Map<_, Value>>(text).is_ok();
    let object = arguments.filter(is_object);
    object.unwrap_or_else(|| "{}".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object() {
        for (text, is_valid) in [
            ("", true),
            (" ", true),
            ("null", true),
            (r#"{"a": "\u0000"}"#, true),
            ("{", false),
            ("[]", false),
            ("{} {}", false),
            (r#"{"a": 18446744073709551615}"#, true),
            (r#"{"a": 18446744073709551616}"#, false),
        ] {
            assert_eq!(check_arguments(text).is_ok(), is_valid, "{text}");
        }
    }

    #[test]
    fn names_of_unknown_tools_end_where_something_else_begins() {
        for (name, expected) in [
            ("Crm/find_one-2.0", "Crm/find_one-2.0"),
            (r#"refund{"order": 7}"#, "refund"),
            ("find(ada@example.org)", "find"),
            ("na\0me\n", "na"),
            (" find", "unknown"),
            ("größe", "gr"),
            ("", "unknown"),
        ] {
            assert_eq!(printable_name(name), expected, "{name:?}");
        }
        assert_eq!(printable_name(&"a".repeat(100)).len(), 64);
    }

    #[test]
    fn arguments_that_are_too_long_are_rejected() {
        let text = serde_json::json!({"a": "a".repeat(MAX_ARGUMENT_BYTES)}).to_string();
        assert_eq!(
            check_arguments(&text).err().unwrap().reason,
            "the arguments are too long"
        );
    }
}
