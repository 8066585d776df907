//! Paths and the ids in them.

use std::{
    future::{Ready, ready},
    str::FromStr,
};

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use domain::{AgentId, ConversationId, FileId, MessageId, NoteId, ProblemCode, TurnId};

use crate::problem::ApiError;

/// Returns the path as the router sees it: `/%6Fauth2/token` is `/oauth2/token`. All decisions by
/// path must use it; otherwise they could be about another path than the one that is served.
pub fn routed_path(request: &HttpRequest) -> &str {
    request.match_info().as_str()
}

/// An id in a path.
pub trait ResourceId: FromStr {
    /// The code for an id that does not exist or is malformed.
    const NOT_FOUND: ProblemCode;
    /// The name of the id in paths.
    const NAME: &str = "id";
}

impl ResourceId for AgentId {
    const NOT_FOUND: ProblemCode = ProblemCode::AgentNotFound;
}

impl ResourceId for ConversationId {
    const NOT_FOUND: ProblemCode = ProblemCode::ConversationNotFound;
}

impl ResourceId for FileId {
    const NOT_FOUND: ProblemCode = ProblemCode::FileNotFound;
}

impl ResourceId for TurnId {
    const NOT_FOUND: ProblemCode = ProblemCode::TurnNotFound;
}

impl ResourceId for MessageId {
    const NOT_FOUND: ProblemCode = ProblemCode::MessageNotFound;
    const NAME: &str = "messageId";
}

impl ResourceId for NoteId {
    const NOT_FOUND: ProblemCode = ProblemCode::NoteNotFound;
    const NAME: &str = "noteId";
}

/// An id of the path, such as `{id}`. A malformed id is reported as not found.
#[derive(Debug, Clone, Copy)]
pub struct PathId<T>(pub T);

impl<T: ResourceId + 'static> FromRequest for PathId<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let id = request.match_info().query(T::NAME).parse().map(Self);
        ready(id.map_err(|_malformed| ApiError::new(T::NOT_FOUND)))
    }
}
