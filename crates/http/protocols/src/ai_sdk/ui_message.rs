//! Stored messages in the form of the AI SDK: `UIMessage`.

use application::files::TenantLinks;
use domain::{
    ActionNeeded, Author, FileReference, FinishReason, MediaType, Message, MessageError, Role,
    Timestamp, ToolCall, ToolEnd, TurnId, TurnStatus, Usage, tool_call::function_name,
};
use serde::Serialize;
use serde_json::Value;

/// A message. Its id is the client's own, or that of the stored message.
#[derive(Debug, Serialize)]
pub(super) struct UiMessage {
    id: String,
    role: &'static str,
    metadata: Metadata,
    parts: Vec<UiPart>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<TurnId>,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<Author>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_status: Option<TurnStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<MessageError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_version: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<FinishReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum UiPart {
    StepStart {
        #[serde(rename = "type")]
        kind: &'static str,
    },
    Text {
        #[serde(rename = "type")]
        kind: &'static str,
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        state: Option<&'static str>,
    },
    #[serde(rename_all = "camelCase")]
    File {
        #[serde(rename = "type")]
        kind: &'static str,
        media_type: MediaType,
        filename: String,
        url: String,
    },
    Tool(ToolPart),
}

/// A tool call. Its type is that of the function which models see.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolPart {
    #[serde(rename = "type")]
    kind: String,
    tool_call_id: String,
    input: Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    provider_executed: bool,
    #[serde(flatten)]
    state: ToolState,
}

/// The state of a tool call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ToolState {
    Waiting(WaitingState),
    Ended(ToolOutcome),
}

/// The state of a tool call without an outcome.
#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
enum WaitingState {
    /// It runs, or waits for the client, which runs it.
    InputAvailable,
    /// It waits for the user, who must approve it.
    ApprovalRequested { approval: Approval },
    /// It is approved, and waits for answers to other calls.
    ApprovalResponded { approval: Approval },
}

/// The outcome of a tool call.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all_fields = "camelCase")]
pub(super) enum ToolOutcome {
    /// The result.
    #[serde(rename = "output-available")]
    Output { output: Value },
    /// The reason of the failure.
    #[serde(rename = "output-error")]
    Error { error_text: String },
    /// The user has denied it.
    #[serde(rename = "output-denied")]
    Denied { approval: Approval },
}

/// The approval of a tool call, which has the id of the call.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Approval {
    id: String,
    /// None until it is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<bool>,
    /// Of a denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl ToolOutcome {
    /// Returns the outcome of a call with this status and result.
    pub(super) fn new(id: &str, status: &str, result: Option<String>) -> Self {
        match status {
            // That it waits for staff, or that another turn makes it, is what the call has returned so far.
            ToolCall::OK | ToolCall::WAITING | ToolCall::APPROVED => Self::Output {
                output: result.map_or(Value::Null, output),
            },
            ToolCall::DENIED => Self::Denied {
                approval: Approval {
                    id: id.to_owned(),
                    approved: Some(false),
                    reason: result
                        .as_deref()
                        .and_then(ToolEnd::denial_reason)
                        .map(str::to_owned),
                },
            },
            ToolCall::CANCELLED => Self::cancelled(),
            _ => Self::Error {
                error_text: result.unwrap_or_else(|| format!("The call ended as {status}.")),
            },
        }
    }

    /// Returns the outcome of a call that was open when its turn was cancelled.
    pub(super) fn cancelled() -> Self {
        let error_text = "The call was cancelled.".to_owned();
        Self::Error { error_text }
    }
}

impl ToolPart {
    fn of(call: ToolCall) -> Self {
        let needs = call.needs_of_user();
        let approval = |approved| Approval {
            id: call.id.clone(),
            approved,
            reason: None,
        };
        let state = match needs {
            Some(ActionNeeded::Approval) => ToolState::Waiting(WaitingState::ApprovalRequested {
                approval: approval(None),
            }),
            None if call.has_returned() => {
                ToolState::Ended(ToolOutcome::new(&call.id, &call.status, call.result))
            }
            None if call.status == ToolCall::WAITING => {
                let approval = approval(Some(true));
                ToolState::Waiting(WaitingState::ApprovalResponded { approval })
            }
            _ => ToolState::Waiting(WaitingState::InputAvailable),
        };
        Self {
            kind: format!("tool-{}", function_name(&call.name)),
            tool_call_id: call.id,
            input: shown_arguments(call.arguments),
            provider_executed: needs.is_none(),
            state,
        }
    }
}

/// Returns a result as JSON if it is an object or an array, and else as text.
fn output(result: String) -> Value {
    let is_structure = result.starts_with(['{', '[']);
    let parsed = is_structure.then(|| serde_json::from_str(&result).ok());
    parsed.flatten().unwrap_or(Value::String(result))
}

impl UiMessage {
    /// Returns the form of a message; `None` if it is of an unknown role, which clients could not
    /// show.
    pub(super) fn of(message: Message, links: &TenantLinks) -> Option<Self> {
        let id = message.page_id();
        // Clients place the files of a message before its text.
        let mut parts: Vec<_> = message.files.iter().map(|it| file(it, links)).collect();
        let role = match message.role {
            Role::User => {
                if parts.is_empty() || !message.content.is_empty() {
                    parts.push(text(message.content, None));
                }
                "user"
            }
            Role::Agent => {
                parts.extend(reply_parts(&message.content, message.tool_calls));
                "assistant"
            }
            Role::Other(_) => return None,
        };
        Some(Self {
            id,
            role,
            metadata: Metadata {
                turn_id: message.turn_id,
                created_at: message.created_at,
                author: message.author,
                turn_status: message.turn_status,
                error: message.error,
                agent_version: message.agent_version,
                engine: message.engine,
                model: message.model,
                finish_reason: message.finish_reason,
                usage: message.usage,
            },
            parts,
        })
    }
}

/// Returns the parts of a reply as its stream has them: each tool call where it happened.
fn reply_parts(content: &str, tool_calls: Vec<ToolCall>) -> Vec<UiPart> {
    let mut parts = vec![UiPart::StepStart { kind: "step-start" }];
    let mut written = 0;
    for call in tool_calls {
        let at = call.at.clamp(written, content.len());
        push_text(&mut parts, content.get(written..at));
        written = at;
        parts.push(UiPart::Tool(ToolPart::of(call)));
    }
    push_text(&mut parts, content.get(written..));
    parts
}

/// Returns the arguments of a call, in the form of arguments also if they are not shown.
fn shown_arguments(arguments: Value) -> Value {
    if arguments.is_null() {
        return ToolCall::omitted_arguments();
    }
    arguments
}

fn push_text(parts: &mut Vec<UiPart>, content: Option<&str>) {
    let mut content = content.unwrap_or_default();
    if matches!(parts.last(), Some(UiPart::Tool(_))) {
        content = after_tool(content);
    }
    if !content.is_empty() {
        parts.push(text(content.to_owned(), Some("done")));
    }
}

/// Returns the text after a tool call without the line breaks that separate it from the text before:
/// it is a part of its own.
pub(super) fn after_tool(text: &str) -> &str {
    text.trim_start_matches('\n')
}

fn file(file: &FileReference, links: &TenantLinks) -> UiPart {
    UiPart::File {
        kind: "file",
        media_type: file.media_type,
        filename: file.name.clone(),
        url: links.address(file.id),
    }
}

fn text(text: String, state: Option<&'static str>) -> UiPart {
    UiPart::Text {
        kind: "text",
        text,
        state,
    }
}
