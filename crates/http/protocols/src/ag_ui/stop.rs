//! `POST /ag-ui/agents/{id}/stop`. The protocol has no such operation: its clients only close the
//! stream, which does not end the turn.

use actix_web::HttpResponse;
use domain::AgentId;
use kit::{
    auth::{Authorized, ChatWrite},
    problem::ApiError,
    request::{LenientJson, PathId, conversation_key},
};
use serde::Deserialize;

use crate::EndUser;

/// The body.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StopInput {
    thread_id: String,
}

/// Cancels all open turns of a thread.
pub(super) async fn stop(
    authorized: Authorized<ChatWrite>,
    agent: PathId<AgentId>,
    user: EndUser,
    input: LenientJson<StopInput>,
) -> Result<HttpResponse, ApiError> {
    let key = conversation_key("/threadId", &input.0.thread_id)?;
    let (caller, conversations) = (authorized.caller(), &authorized.conversations);
    let named = conversations.find_named(caller, agent.0, user.0.as_deref(), key);
    if let Some(conversation) = named.await? {
        authorized.turns.cancel_open(caller, conversation).await?;
    }
    Ok(HttpResponse::NoContent().finish())
}
