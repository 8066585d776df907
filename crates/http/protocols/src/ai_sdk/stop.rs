//! `POST /ai-sdk/agents/{id}/chat/{chat}/stop`.

use actix_web::HttpResponse;
use kit::{
    auth::{Authorized, ChatWrite},
    problem::ApiError,
};

use super::path::PathChat;

/// Cancels the open turns of a chat, if it has any.
pub(super) async fn stop_chat(
    authorized: Authorized<ChatWrite>,
    chat: PathChat,
) -> Result<HttpResponse, ApiError> {
    let caller = authorized.caller();
    if let Some(chat) = chat.0
        && let Some(conversation) = chat.find(&authorized.conversations, caller).await?
    {
        authorized.turns.cancel_open(caller, conversation).await?;
    }
    Ok(HttpResponse::NoContent().finish())
}
