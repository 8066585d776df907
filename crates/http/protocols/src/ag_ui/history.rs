//! The messages of a thread, as clients show them.

use application::files::TenantLinks;
use domain::{
    ActionNeeded, FileKind, FileReference, FinishReason, Message, Role, ToolCall, Turn, TurnStatus,
};
use serde_json::{Value, json};

use super::{
    event::{result_content, result_message_id, result_metadata},
    reply::segments,
};

/// Returns the messages in the form of `TanStack` AI, followed by those of queued turns, which
/// are stored when their turns start.
pub(super) fn ui_messages(
    messages: &[Message],
    open_turns: &[Turn],
    links: &TenantLinks,
) -> Vec<Value> {
    let stored = messages
        .iter()
        .filter_map(|message| ui_message(message, links));
    let queued = queued(open_turns).map(|turn| {
        let text =
            (!turn.input.is_empty()).then(|| json!({ "type": "text", "content": turn.input }));
        let parts: Vec<_> = text.into_iter().chain(files(&turn.files, links)).collect();
        json!({
            "id": queued_id(turn), "role": "user", "parts": parts, "createdAt": turn.created_at,
        })
    });
    stored.chain(queued).collect()
}

/// Returns nothing for a message of an unknown role, which clients could not show.
fn ui_message(message: &Message, links: &TenantLinks) -> Option<Value> {
    let role = match message.role {
        Role::User => "user",
        Role::Agent => "assistant",
        Role::Other(_) => return None,
    };
    let mut metadata = json!({});
    if let Some(error) = &message.error {
        metadata["error"] = json!(error);
    }
    if let Some(reason) = message.finish_reason.filter(|it| *it != FinishReason::Stop) {
        metadata["finishReason"] = json!(reason);
    }
    if let Some(author) = &message.author {
        metadata["author"] = json!(author);
    }
    Some(json!({
        "id": message.page_id(),
        "role": role,
        "parts": parts(message, links),
        "createdAt": message.created_at,
        "metadata": metadata,
    }))
}

/// Returns text and calls in their order, and files.
fn parts(message: &Message, links: &TenantLinks) -> Vec<Value> {
    let segments = segments(message.id, &message.content, &message.tool_calls);
    let parts = segments.into_iter().flat_map(|segment| {
        let text =
            (!segment.text.is_empty()).then(|| json!({ "type": "text", "content": segment.text }));
        text.into_iter()
            .chain(segment.calls.iter().flat_map(call_parts))
    });
    parts.chain(files(&message.files, links)).collect()
}

/// Returns parts with the addresses of files.
fn files(files: &[FileReference], links: &TenantLinks) -> impl Iterator<Item = Value> {
    files.iter().map(|file| {
        let kind = match file.media_type.kind() {
            Some(FileKind::Image) => "image",
            Some(FileKind::Audio) => "audio",
            Some(FileKind::Pdf | FileKind::Text) | None => "document",
        };
        json!({
            "type": kind,
            "source": {
                "type": "url", "value": links.address(file.id), "mimeType": file.media_type.as_str(),
            },
            "metadata": { "filename": file.name },
        })
    })
}

/// Returns the content of a message of the user.
fn content(text: &str, of_message: &[FileReference], links: &TenantLinks) -> Value {
    if of_message.is_empty() {
        return text.into();
    }
    let text = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
    text.into_iter().chain(files(of_message, links)).collect()
}

/// Returns a call and its result, unless it waits.
fn call_parts(call: &ToolCall) -> Vec<Value> {
    let input = shown_arguments(call);
    let arguments = input.to_string();
    if let Some(needs) = call.needs_of_user() {
        let state = match needs {
            ActionNeeded::Approval => "approval-requested",
            _ => "input-complete",
        };
        let mut part = json!({
            "type": "tool-call", "id": call.id, "name": call.name, "arguments": arguments,
            "input": input, "state": state,
        });
        if needs == ActionNeeded::Approval {
            part["approval"] = json!({"id": call.id, "needsApproval": true});
        }
        return vec![part];
    }
    let content = result_content(call.result.as_deref(), &call.status);
    let output = serde_json::from_str(content).unwrap_or_else(|_| json!(content));
    let is_ok = call.status == ToolCall::OK;
    let state = if is_ok { "complete" } else { "error" };
    let mut result = json!({
        "type": "tool-result", "toolCallId": call.id, "content": content, "state": state,
    });
    if !is_ok {
        result["error"] = json!(content);
    }
    let call = json!({
        "type": "tool-call", "id": call.id, "name": call.name, "arguments": arguments,
        "input": input, "state": state, "output": output,
    });
    vec![call, result]
}

/// Returns the arguments of a call, in the form of arguments also if they are not shown.
fn shown_arguments(call: &ToolCall) -> Value {
    if call.arguments.is_null() {
        return ToolCall::omitted_arguments();
    }
    call.arguments.clone()
}

/// Returns the messages in the form of the event `MESSAGES_SNAPSHOT`.
pub(super) fn agui_messages(
    messages: &[Message],
    open_turns: &[Turn],
    links: &TenantLinks,
) -> Vec<Value> {
    let stored = messages
        .iter()
        .flat_map(|message| agui_message(message, links));
    let queued = queued(open_turns).map(|turn| {
        let content = content(&turn.input, &turn.files, links);
        json!({ "id": queued_id(turn), "role": "user", "content": content })
    });
    stored.chain(queued).collect()
}

fn agui_message(message: &Message, links: &TenantLinks) -> Vec<Value> {
    match message.role {
        Role::User => {
            let id = message.page_id();
            let content = content(&message.content, &message.files, links);
            return vec![json!({ "id": id, "role": "user", "content": content })];
        }
        Role::Agent => {}
        Role::Other(_) => return Vec::new(),
    }
    let segments = segments(message.id, &message.content, &message.tool_calls);
    let items = segments.into_iter().flat_map(|segment| {
        let mut item = json!({ "id": segment.id, "role": "assistant", "content": segment.text });
        if !segment.calls.is_empty() {
            item["toolCalls"] = segment.calls.iter().map(tool_call).collect();
        }
        let ended = segment
            .calls
            .iter()
            .filter(|call| call.needs_of_user().is_none());
        std::iter::once(item).chain(ended.map(tool_message))
    });
    items.collect()
}

fn tool_call(call: &ToolCall) -> Value {
    let function = json!({ "name": call.name, "arguments": shown_arguments(call).to_string() });
    json!({ "id": call.id, "type": "function", "function": function })
}

fn tool_message(call: &ToolCall) -> Value {
    json!({
        "id": result_message_id(&call.id),
        "role": "tool",
        "toolCallId": call.id,
        "content": result_content(call.result.as_deref(), &call.status),
        "metadata": result_metadata(&call.status),
    })
}

fn queued(open_turns: &[Turn]) -> impl Iterator<Item = &Turn> {
    let is_queued = |turn: &&Turn| turn.status == TurnStatus::Queued && turn.has_message();
    open_turns.iter().filter(is_queued)
}

/// Returns the id under which the client knows the message of a queued turn.
fn queued_id(turn: &Turn) -> String {
    let own = turn.client_message_id.clone();
    own.unwrap_or_else(|| turn.id.to_string())
}
