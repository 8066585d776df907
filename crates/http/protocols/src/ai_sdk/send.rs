//! `POST /ai-sdk/agents/{id}/chat`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::chat::AcceptedTurn;
use domain::{AgentId, ProblemCode};
use kit::{
    auth::{Authorized, ChatWrite},
    layers::RequestId,
    problem::ApiError,
    request::{JsonWithFiles, PathId, conversation_key},
    state::HttpState,
};

use super::{
    path::Chat,
    request::ChatBody,
    requested_turn::{Requested, RequestedTurn, Submission},
    stream,
};
use crate::{EndUser, answers::Seen};

/// Sends, edits or answers a message again, and responds with the stream of its turn.
pub(super) async fn chat(
    authorized: Authorized<ChatWrite>,
    state: Data<HttpState>,
    agent: PathId<AgentId>,
    user: EndUser,
    request: HttpRequest,
    JsonWithFiles { body, memory }: JsonWithFiles<ChatBody>,
) -> Result<HttpResponse, ApiError> {
    let submission = Submission {
        authorized: &authorized,
        chat: named_chat(agent.0, user, &body.id)?,
        request_id: RequestId::of(&request),
        memory,
    };
    let requested = submission.resolve(body, &state).await?;
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

/// Gives the answers of a request, and starts the requested turn or finds it. Returns what the client
/// has of its reply, too.
pub(super) async fn accept(
    authorized: &Authorized<ChatWrite>,
    Requested {
        answered,
        turn,
        places,
    }: Requested,
) -> Result<(AcceptedTurn, Seen), ApiError> {
    let (chat, caller) = (&authorized.chat, authorized.caller());
    if let Some(answered) = answered {
        answered.give_before_message(authorized).await?;
    }
    let accepted = match turn {
        RequestedTurn::New(command, key) => {
            let sending = chat.send(authorized.chat_caller(), *command, key);
            sending.await.map_err(|error| places.locate(error.into()))?
        }
        RequestedTurn::Sent(turn) => {
            let sent = chat.find_turn(caller, turn).await?;
            sent.ok_or(ApiError::new(ProblemCode::TurnNotFound))?
        }
        RequestedTurn::Answered(turn) => return turn.follow(authorized).await,
    };
    Ok((accepted, Seen::default()))
}
