//! What every request passes on its way to a handler, from the outside in: [`observe`] (request
//! id, log, metrics), [`normalise`] (headers, problems, HEAD), authentication (in
//! [`crate::access`]), [`receive_body`], and around each handler [`catch_panics`].

mod body;
mod normalise;
mod observe;
mod panics;

pub use body::receive_body;
pub use normalise::normalise;
pub use observe::{RequestId, observe};
pub use panics::{RoutePattern, resource};
