//! `GET /api/conversations/{id}/stream`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use domain::{ConversationId, TurnEvent};
use kit::{
    auth::{Authorized, ConversationsRead},
    problem::ApiError,
    request::PathId,
    state::HttpState,
};

use crate::chat::stream_turn;

/// Follow the turn of a conversation: the running turn, or else the first queued one, or else the
/// newest, if it has ended in the last ten minutes.
///
/// The stream is that of `POST /api/chat` from the beginning of the turn: the reasoning so far, if it is shown,
/// is one `reasoning.delta`, and the text so far the first `reply.delta`. A client that has lost its stream, or reloads in the middle of a reply,
/// receives the rest of the reply and its end.
#[utoipa::path(
    get, path = "/api/conversations/{id}/stream", operation_id = "follow_conversation", tag = "Conversations",
    params(("id" = ConversationId, Path, description = "The conversation.")),
    responses(
        (status = 200, description = "The events of the turn.", body = TurnEvent, content_type = "text/event-stream"),
        (status = 204, description = "No turn is queued or running, and none has ended in the last ten minutes."),
        (status = 429, description = "Too many requests, or too many open streams."),
    ),
)]
pub async fn follow_conversation(
    authorized: Authorized<ConversationsRead>,
    state: Data<HttpState>,
    id: PathId<ConversationId>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let turn = authorized.chat.follow(authorized.caller(), id.0).await?;
    let Some(turn) = turn else {
        return Ok(HttpResponse::NoContent().finish());
    };
    let slot = authorized.open_stream(&state).await?;
    Ok(stream_turn(&state, &authorized, &request, slot, turn))
}
