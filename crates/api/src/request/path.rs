//! Paths, and the ids in them.

use std::{
    future::{Ready, ready},
    str::FromStr,
};

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use domain::{AgentId, ConversationId, ProblemCode, TurnId};

use crate::problem::ApiError;

/// A request's path as the router reads it: `/%6Fauth2/token` is `/oauth2/token`. Whoever judges by
/// the path reads it so, or it would judge another one than is served.
pub fn routed_path(request: &HttpRequest) -> &str {
    request.match_info().as_str()
}

/// An id that can stand in a path.
pub trait Named: FromStr {
    /// What a caller is told who names one that does not exist, or cannot.
    const NOT_FOUND: ProblemCode;
}

impl Named for AgentId {
    const NOT_FOUND: ProblemCode = ProblemCode::AgentNotFound;
}

impl Named for ConversationId {
    const NOT_FOUND: ProblemCode = ProblemCode::ConversationNotFound;
}

impl Named for TurnId {
    const NOT_FOUND: ProblemCode = ProblemCode::TurnNotFound;
}

/// The `{id}` of the path; a malformed one is like one that nobody has.
#[derive(Debug, Clone, Copy)]
pub struct PathId<T>(pub T);

impl<T: Named + 'static> FromRequest for PathId<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let id = request.match_info().query("id").parse().map(Self);
        ready(id.map_err(|_malformed| ApiError::new(T::NOT_FOUND)))
    }
}
