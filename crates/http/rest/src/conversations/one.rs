//! `/api/conversations/{id}`.

use actix_web::{HttpRequest, HttpResponse};
use domain::{Conversation, ConversationId};
use kit::{
    auth::{Authorized, ConversationsRead, ConversationsWrite},
    problem::ApiError,
    reads,
    request::{IfMatch, JsonBody, MergePatch, PathId},
};

/// The schema of a merge patch of a conversation.
pub struct ConversationPatch;

impl JsonBody for ConversationPatch {
    const SCHEMA: &'static str = "ConversationDraftPatch";
}

/// Read a conversation.
#[utoipa::path(
    get, path = "/api/conversations/{id}", operation_id = "get_conversation", tag = "Conversations",
    params(("id" = ConversationId, Path, description = "The conversation.")),
    responses(
        (status = 200, description = "The conversation.", body = Conversation),
        (status = 304, description = "The conversation has not changed since the version in `If-None-Match`."),
    ),
)]
pub async fn get_conversation(
    authorized: Authorized<ConversationsRead>,
    id: PathId<ConversationId>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let found = authorized
        .conversations
        .get(authorized.caller(), id.0)
        .await?;
    let etag = super::etag(&found.value);
    Ok(reads::single(
        &request,
        etag,
        found.position,
        &found.value.item,
    ))
}

/// Change a conversation, who answers in it, or whose it is, with a JSON merge patch (RFC 7396): absent members
/// keep their values, `null` removes a member. With another `userId` the conversation moves to that user, with all
/// its messages, turns and events: to the user before, it is deleted.
#[utoipa::path(
    patch, path = "/api/conversations/{id}", operation_id = "patch_conversation", tag = "Conversations",
    params(("id" = ConversationId, Path, description = "The conversation.")),
    request_body(
        content(
            (serde_json::Value = "application/merge-patch+json", example = json!({"title": "My order"})),
            (serde_json::Value = "application/json", example = json!({"title": null})),
        ),
    ),
    responses(
        (status = 200, description = "The changed conversation.", body = Conversation),
        (status = 409, description = "The user has another conversation with the key of this one."),
    ),
)]
pub async fn patch_conversation(
    authorized: Authorized<ConversationsWrite>,
    id: PathId<ConversationId>,
    condition: IfMatch,
    patch: MergePatch<ConversationPatch>,
) -> Result<HttpResponse, ApiError> {
    let caller = authorized.caller();
    let changed = authorized
        .conversations
        .patch(caller, id.0, &patch.value, &condition.0)
        .await?;
    Ok(reads::written(
        HttpResponse::Ok(),
        super::etag(&changed),
        &changed.item,
    ))
}

/// Delete a conversation and its messages.
#[utoipa::path(
    delete, path = "/api/conversations/{id}", operation_id = "delete_conversation", tag = "Conversations",
    params(("id" = ConversationId, Path, description = "The conversation.")),
    responses((status = 204, description = "The conversation is deleted.")),
)]
pub async fn delete_conversation(
    authorized: Authorized<ConversationsWrite>,
    id: PathId<ConversationId>,
    condition: IfMatch,
) -> Result<HttpResponse, ApiError> {
    authorized
        .conversations
        .delete(authorized.caller(), id.0, &condition.0)
        .await?;
    Ok(HttpResponse::NoContent().finish())
}
