//! `POST /ai-sdk/agents/{id}/chat`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use domain::{AgentId, ProblemCode};
use kit::{
    auth::{Authorized, ChatWrite},
    layers::RequestId,
    problem::ApiError,
    request::{LenientJson, PathId, conversation_key},
    state::HttpState,
};

use super::{
    path::Chat,
    request::ChatBody,
    requested_turn::{RequestedTurn, Submission},
    stream,
};
use crate::EndUser;

/// Sends, edits or answers a message again, and responds with the stream of its turn.
pub(super) async fn chat(
    authorized: Authorized<ChatWrite>,
    state: Data<HttpState>,
    agent: PathId<AgentId>,
    user: EndUser,
    request: HttpRequest,
    body: LenientJson<ChatBody>,
) -> Result<HttpResponse, ApiError> {
    let submission = Submission {
        authorized: &authorized,
        chat: named_chat(agent.0, user, &body.0.id)?,
        request_id: RequestId::of(&request),
    };
    let requested = submission.resolve(body.0, &state.bodies.schemas).await?;
    // Opened before the message is stored: if the stream is rejected, the message has no effect.
    let slot = authorized.open_stream(&state).await?;
    let accepted = accept(&authorized, requested).await?;
    Ok(stream::respond(
        &state,
        &authorized,
        &request,
        slot,
        accepted,
    ))
}

/// Returns the chat that a body names.
pub(super) fn named_chat(agent_id: AgentId, user: EndUser, id: &str) -> Result<Chat, ApiError> {
    Ok(Chat {
        agent_id,
        user_id: user.0,
        key: conversation_key("/id", id)?,
    })
}

/// Starts the requested turn, or finds it.
pub(super) async fn accept(
    authorized: &Authorized<ChatWrite>,
    requested: RequestedTurn,
) -> Result<application::chat::AcceptedTurn, ApiError> {
    let (chat, caller) = (&authorized.chat, authorized.caller());
    match requested {
        RequestedTurn::New(command, key) => {
            let sending = chat.send(authorized.chat_caller(), *command, key);
            Ok(sending.await?)
        }
        RequestedTurn::Sent(turn) => {
            let sent = chat.find_turn(caller, turn).await?;
            sent.ok_or(ApiError::new(ProblemCode::TurnNotFound))
        }
    }
}
