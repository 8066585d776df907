//! Messages of staff in `/api/conversations/{id}/messages`.

use actix_web::HttpResponse;
use domain::{ConversationId, Message, MessageId, staff_message::StaffMessageDraft};
use kit::{
    auth::{Authorized, ConversationsWrite},
    problem::ApiError,
    request::{IdempotencyHeader, Json, JsonBody, MergePatch, PathId, mark_replayed},
};

/// The body of a message of staff.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub struct StaffMessageBody(StaffMessageDraft);

impl JsonBody for StaffMessageBody {
    const SCHEMA: &'static str = "StaffMessageDraft";
}

/// The schema of a merge patch of a message of staff.
pub struct StaffMessagePatch;

impl JsonBody for StaffMessagePatch {
    const SCHEMA: &'static str = "StaffMessageDraftPatch";
}

/// Write a message in place of the agent. It is part of the conversation at once, and starts no turn. Users
/// cannot: it needs a key or a client, or `conversations:all`.
#[utoipa::path(
    post, path = "/api/conversations/{id}/messages", operation_id = "write_message", tag = "Conversations",
    params(("id" = ConversationId, Path, description = "The conversation.")),
    request_body(content = StaffMessageDraft, example = json!({"content": "Your parcel is on its way.", "author": {"name": "Grace"}})),
    responses(
        (status = 201, description = "The message.", body = Message),
        (status = 409, description = "Another conversation uses a file."),
    ),
)]
pub async fn write_message(
    authorized: Authorized<ConversationsWrite>,
    id: PathId<ConversationId>,
    key: IdempotencyHeader,
    body: Json<StaffMessageBody>,
) -> Result<HttpResponse, ApiError> {
    let conversations = &authorized.conversations;
    let written = conversations.write_staff_message(authorized.caller(), id.0, body.0.0, key.0);
    let written = written.await?;
    let response = HttpResponse::Created().json(&written.value);
    mark_replayed(Ok(response), written.is_replayed)
}

/// Change the text of a message of staff with a JSON merge patch (RFC 7396).
#[utoipa::path(
    patch, path = "/api/conversations/{id}/messages/{messageId}", operation_id = "patch_message", tag = "Conversations",
    params(
        ("id" = ConversationId, Path, description = "The conversation."),
        ("messageId" = MessageId, Path, description = "The message of staff."),
    ),
    request_body(
        content(
            (serde_json::Value = "application/merge-patch+json", example = json!({"content": "Your parcel arrives today."})),
            (serde_json::Value = "application/json", example = json!({"content": "Your parcel arrives today."})),
        ),
    ),
    responses((status = 200, description = "The changed message.", body = Message)),
)]
pub async fn patch_message(
    authorized: Authorized<ConversationsWrite>,
    id: PathId<ConversationId>,
    message: PathId<MessageId>,
    patch: MergePatch<StaffMessagePatch>,
) -> Result<HttpResponse, ApiError> {
    let content = patch
        .value
        .get("content")
        .and_then(|content| content.as_str());
    let content = content.map(ToOwned::to_owned);
    let conversations = &authorized.conversations;
    let changed =
        conversations.rewrite_staff_message(authorized.caller(), (id.0, message.0), content);
    Ok(HttpResponse::Ok().json(changed.await?))
}

/// Delete a message of staff.
#[utoipa::path(
    delete, path = "/api/conversations/{id}/messages/{messageId}", operation_id = "delete_message", tag = "Conversations",
    params(
        ("id" = ConversationId, Path, description = "The conversation."),
        ("messageId" = MessageId, Path, description = "The message of staff."),
    ),
    responses((status = 204, description = "The message is deleted.")),
)]
pub async fn delete_message(
    authorized: Authorized<ConversationsWrite>,
    id: PathId<ConversationId>,
    message: PathId<MessageId>,
) -> Result<HttpResponse, ApiError> {
    let conversations = &authorized.conversations;
    let deleted = conversations.delete_staff_message(authorized.caller(), (id.0, message.0));
    deleted.await?;
    Ok(HttpResponse::NoContent().finish())
}
