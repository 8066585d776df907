//! The chat that a path names.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use application::ConversationService;
use domain::{AgentId, ConversationId, ConversationKey, Principal};
use kit::{
    problem::ApiError,
    request::{PathId, ResourceId as _},
};

use crate::EndUser;

/// A chat: a conversation of a user with an agent under the client's own id.
#[derive(Debug, Clone)]
pub(super) struct Chat {
    pub(super) agent_id: AgentId,
    pub(super) user_id: Option<String>,
    pub(super) key: ConversationKey,
}

impl Chat {
    /// Returns the conversation of the chat, if it exists.
    pub(super) async fn find(
        &self,
        conversations: &ConversationService,
        caller: &Principal,
    ) -> Result<Option<ConversationId>, ApiError> {
        let (user_id, key) = (self.user_id.as_deref(), self.key.clone());
        let found = conversations.find_named(caller, self.agent_id, user_id, key);
        Ok(found.await?)
    }
}

/// The chat of a path; `None` if its id can be no chat's.
pub(super) struct PathChat(pub(super) Option<Chat>);

impl FromRequest for PathChat {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(path_chat(request, payload))
    }
}

fn path_chat(request: &HttpRequest, payload: &mut Payload) -> Result<PathChat, ApiError> {
    let agent = PathId::<AgentId>::from_request(request, payload).into_inner();
    let agent_id = match agent {
        Ok(agent) => agent.0,
        Err(error) if error.code == AgentId::NOT_FOUND => return Ok(PathChat(None)),
        Err(error) => return Err(error),
    };
    let user_id = EndUser::from_request(request, payload).into_inner()?.0;
    let key = request.match_info().query("chat").parse();
    Ok(PathChat(key.ok().map(|key| Chat {
        agent_id,
        user_id,
        key,
    })))
}
