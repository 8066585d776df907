//! Notes of staff in `/api/conversations/{id}/notes`.

use actix_web::{HttpRequest, HttpResponse};
use domain::{ConversationId, Note, NoteDraft, NoteId};
use kit::{
    auth::{Authorized, ConversationsRead, ConversationsWrite},
    problem::ApiError,
    reads::{self, PageOf},
    request::{
        IdempotencyHeader, Json, JsonBody, PagePermit, PathId, QueryParameters, mark_replayed,
    },
};

/// The body of a note.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub struct NoteBody(NoteDraft);

impl JsonBody for NoteBody {
    const SCHEMA: &'static str = "NoteDraft";
}

/// List the notes of a conversation, the newest first. Users cannot, unless with `conversations:all`.
#[utoipa::path(
    get, path = "/api/conversations/{id}/notes", operation_id = "list_notes", tag = "Conversations",
    params(
        ("id" = ConversationId, Path, description = "The conversation."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of notes.", body = PageOf<Note>)),
)]
pub async fn list_notes(
    authorized: Authorized<ConversationsRead>,
    id: PathId<ConversationId>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query = QueryParameters::read(&request, &["limit", "cursor"]);
    let limit = query.limit();
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let (conversations, caller) = (&authorized.conversations, authorized.caller());
    let page = conversations.list_notes(caller, id.0, cursor.as_deref(), limit);
    Ok(reads::page_outside_log(&request, page.await?))
}

/// Write a note about a conversation, which neither its user nor a model sees.
#[utoipa::path(
    post, path = "/api/conversations/{id}/notes", operation_id = "write_note", tag = "Conversations",
    params(("id" = ConversationId, Path, description = "The conversation.")),
    request_body(content = NoteDraft, example = json!({"content": "Promised a call back.", "author": {"name": "Grace"}})),
    responses(
        (status = 201, description = "The note.", body = Note),
        (status = 409, description = "Another conversation uses a file."),
    ),
)]
pub async fn write_note(
    authorized: Authorized<ConversationsWrite>,
    id: PathId<ConversationId>,
    key: IdempotencyHeader,
    body: Json<NoteBody>,
) -> Result<HttpResponse, ApiError> {
    let conversations = &authorized.conversations;
    let written = conversations.write_note(authorized.caller(), id.0, body.0.0, key.0);
    let written = written.await?;
    let response = HttpResponse::Created().json(&written.value);
    mark_replayed(Ok(response), written.is_replayed)
}

/// Delete a note.
#[utoipa::path(
    delete, path = "/api/conversations/{id}/notes/{noteId}", operation_id = "delete_note", tag = "Conversations",
    params(
        ("id" = ConversationId, Path, description = "The conversation."),
        ("noteId" = NoteId, Path, description = "The note."),
    ),
    responses((status = 204, description = "The note is deleted.")),
)]
pub async fn delete_note(
    authorized: Authorized<ConversationsWrite>,
    id: PathId<ConversationId>,
    note: PathId<NoteId>,
) -> Result<HttpResponse, ApiError> {
    let conversations = &authorized.conversations;
    let deleted = conversations.delete_note(authorized.caller(), (id.0, note.0));
    deleted.await?;
    Ok(HttpResponse::NoContent().finish())
}
