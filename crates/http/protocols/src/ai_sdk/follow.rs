//! `GET /ai-sdk/agents/{id}/chat/{chat}/stream`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::chat::{AcceptedTurn, ChatError};
use kit::{
    auth::{Authorized, TurnsRead},
    problem::ApiError,
    state::HttpState,
};

use super::{
    path::{Chat, PathChat},
    stream,
};
use crate::answers::Seen;

/// Responds with the stream of the open or newest turn, from its beginning. Without such a turn, or
/// such a chat, the response is 204: another status would put the chat of a new page into an error.
pub(super) async fn follow_chat(
    authorized: Authorized<TurnsRead>,
    state: Data<HttpState>,
    chat: PathChat,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let slot = authorized.open_stream(&state).await?;
    let turn = match chat.0 {
        Some(chat) => current_turn(&authorized, &chat).await?,
        None => None,
    };
    let Some(turn) = turn else {
        return Ok(HttpResponse::NoContent().finish());
    };
    let turn = (turn, Seen::default());
    Ok(stream::respond(&state, &authorized, &request, slot, turn))
}

/// Returns the open or newest turn of a chat, if the caller may read it.
pub(super) async fn current_turn<R>(
    authorized: &Authorized<R>,
    chat: &Chat,
) -> Result<Option<AcceptedTurn>, ApiError> {
    let caller = authorized.caller();
    let Some(conversation) = chat.find(&authorized.conversations, caller).await? else {
        return Ok(None);
    };
    match authorized.chat.follow(caller, conversation).await {
        // It has been deleted since.
        Err(ChatError::ConversationNotFound) => Ok(None),
        found => Ok(found?),
    }
}
