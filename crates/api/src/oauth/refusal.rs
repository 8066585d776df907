//! Refusals in the words of OAuth.

use std::fmt;

use actix_web::{
    HttpResponse, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
    web::Bytes,
};
use application::access::server::{OAuthError, SigningKeyError};
use domain::ProblemCode;
use ports::{BoxError, RepositoryError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::FailureCause;

/// How a client may authenticate by a header.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"agent-service\"");

/// Whether a path is one of the endpoints that speak OAuth, also about what is no request for
/// them.
pub fn is_endpoint(path: &str) -> bool {
    path.starts_with("/oauth2/")
}

/// A refusal, as RFC 6749 (5.2) has it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OAuthError)]
pub struct ErrorBody {
    /// What is wrong, in one of the words of RFC 6749, RFC 7009 and RFC 8707.
    #[schema(value_type = String, examples("invalid_client"))]
    error: &'static str,
    /// The same for people.
    #[schema(value_type = String)]
    error_description: &'static str,
}

/// A refusal on its way to the client.
#[derive(Debug)]
pub struct OAuthRefusal {
    status: StatusCode,
    error: &'static str,
    description: &'static str,
    /// The cause, for the log alone.
    source: Option<BoxError>,
}

impl OAuthRefusal {
    const fn new(status: StatusCode, error: &'static str, description: &'static str) -> Self {
        Self {
            status,
            error,
            description,
            source: None,
        }
    }

    const fn bad_request(error: &'static str, description: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error, description)
    }

    /// A request that is not as OAuth wants it.
    pub(super) const fn invalid_request(description: &'static str) -> Self {
        Self::bad_request("invalid_request", description)
    }

    /// A client that did not prove what it is.
    pub(super) const fn invalid_client() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "invalid_client",
            "the client could not be authenticated",
        )
    }

    /// What a status says that has nothing to do with OAuth.
    fn of_status(status: u16) -> Self {
        let (error, description) = match status {
            404 => ("invalid_request", "there is no such endpoint"),
            405 => ("invalid_request", "the endpoint takes POST alone"),
            408 => ("invalid_request", "the body did not arrive in time"),
            413 => ("invalid_request", "the body is too large"),
            414 => ("invalid_request", "the address is too long"),
            415 => (
                "invalid_request",
                "a body is taken without a Content-Encoding only",
            ),
            429 => ("temporarily_unavailable", "too many requests, try later"),
            503 => ("temporarily_unavailable", "not at the moment, try later"),
            400..=499 => ("invalid_request", "the request is malformed"),
            _ => ("server_error", "something went wrong in the server"),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, error, description)
    }

    fn body(&self) -> Bytes {
        let body = ErrorBody {
            error: self.error,
            error_description: self.description,
        };
        serde_json::to_vec(&body).unwrap_or_default().into()
    }
}

/// The body with which these endpoints tell what the layers in front of them refuse.
pub fn error_body(code: ProblemCode) -> Bytes {
    OAuthRefusal::of_status(code.status()).body()
}

impl From<OAuthError> for OAuthRefusal {
    fn from(error: OAuthError) -> Self {
        match error {
            OAuthError::InvalidRequest(description) => Self::invalid_request(description),
            OAuthError::InvalidClient => Self::invalid_client(),
            OAuthError::InvalidGrant => {
                Self::bad_request("invalid_grant", "the token was issued to another client")
            }
            OAuthError::UnsupportedGrantType => Self::bad_request(
                "unsupported_grant_type",
                "the only grant_type is client_credentials",
            ),
            OAuthError::InvalidScope => Self::bad_request(
                "invalid_scope",
                "a scope is unknown, or the client does not hold it",
            ),
            OAuthError::InvalidTarget => Self::bad_request(
                "invalid_target",
                "the only resource is the public URL of this service",
            ),
            OAuthError::Store(error) | OAuthError::SigningKeys(SigningKeyError::Store(error)) => {
                error.into()
            }
            OAuthError::SigningKeys(
                error @ (SigningKeyError::Unreadable { .. }
                | SigningKeyError::Contended
                | SigningKeyError::Cryptography),
            ) => Self {
                source: Some(error.into()),
                ..Self::of_status(500)
            },
        }
    }
}

impl From<RepositoryError> for OAuthRefusal {
    fn from(error: RepositoryError) -> Self {
        let status = match &error {
            RepositoryError::Unavailable(_) => 503,
            // The use cases decide about these; one that comes as far as here is a mistake.
            RepositoryError::Conflict { .. }
            | RepositoryError::Stale { .. }
            | RepositoryError::Corrupt { .. } => 500,
        };
        Self {
            source: Some(error.into()),
            ..Self::of_status(status)
        }
    }
}

impl fmt::Display for OAuthRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.error)
    }
}

impl ResponseError for OAuthRefusal {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        response.content_type("application/json");
        if self.status == StatusCode::UNAUTHORIZED {
            response.insert_header((header::WWW_AUTHENTICATE, CHALLENGE));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header((header::RETRY_AFTER, "1"));
        }
        let mut response = response.body(self.body());
        if self.status.is_server_error() {
            let cause = self
                .source
                .as_deref()
                .map(|cause| ports::error::chain(cause));
            response
                .extensions_mut()
                .insert(FailureCause(cause.unwrap_or_default()));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_of_the_layers_has_words_that_oauth_allows() {
        for code in ProblemCode::ALL {
            let body: serde_json::Value = serde_json::from_slice(&error_body(*code)).unwrap();
            let error = body["error"].as_str().unwrap();
            let expected = match code.status() {
                429 | 503 => "temporarily_unavailable",
                500.. => "server_error",
                _ => "invalid_request",
            };
            assert_eq!(error, expected, "{code:?}");
            let description = body["error_description"].as_str().unwrap();
            let is_allowed = |byte: u8| matches!(byte, 0x20..=0x7e) && !b"\"\\".contains(&byte);
            assert!(description.bytes().all(is_allowed), "{description}");
        }
    }
}
