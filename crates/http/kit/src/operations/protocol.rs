//! The protocols of other products' clients, as data.

use actix_web::http::header::{HeaderName, HeaderValue};
use domain::{Problem, ProblemCode};

use super::Operation;
use crate::problem::ApiError;

/// A protocol.
pub struct Protocol {
    /// The name.
    pub name: &'static str,
    /// The setting that turns it off.
    pub setting: &'static str,
    /// The clients that speak it.
    pub clients: &'static str,
    /// The path that the clients are given as their URL.
    pub base_path: &'static str,
    /// The first segment of all its paths.
    pub prefix: &'static str,
    /// The page of the documentation that describes it.
    pub document: &'static str,
    /// Its operations.
    pub operations: &'static [Operation],
    /// Writes the response to an error.
    pub error_body: fn(&Problem) -> ErrorBody,
}

impl Protocol {
    /// Returns the error for a path that is none of this protocol's operations.
    pub fn route_not_found(&self, is_enabled: bool) -> ApiError {
        let Self {
            setting,
            clients,
            base_path,
            document,
            ..
        } = self;
        let detail = if is_enabled {
            format!(
                "The {clients} protocol has no such path. Its base path is `{base_path}`, and \
                 `{document}` lists its operations."
            )
        } else {
            format!(
                "The {clients} protocol is turned off on this server by `{setting}`, see `{document}`."
            )
        };
        ApiError::new(ProblemCode::RouteNotFound).with_detail(detail)
    }
}

/// An error in the form of a protocol.
pub struct ErrorBody {
    /// The status of the response.
    pub status: u16,
    /// The media type.
    pub media_type: &'static str,
    /// The text.
    pub text: String,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}
