//! Errors of the OAuth endpoints.

use std::{borrow::Cow, fmt, time::Duration};

use access::{oauth_server::OAuthError, signing_keys::SigningKeyError, tokens::MIN_FETCH_INTERVAL};
use actix_web::{
    HttpResponse, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
    web::Bytes,
};
use domain::ProblemCode;
use ports::{BoxError, RepositoryError};
use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use crate::problem::{FailureCause, seconds_to_wait, store_problem};

/// The challenge for clients.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"agent-service\"");

/// An error as in RFC 6749 (5.2).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OAuthError)]
pub struct ErrorBody {
    /// The error code of RFC 6749, RFC 7009 or RFC 8707.
    #[schema(value_type = String, examples("invalid_client"))]
    error: &'static str,
    /// A description for people.
    #[schema(value_type = String)]
    error_description: Cow<'static, str>,
}

/// The errors that every endpoint can return, for the document.
#[derive(IntoResponses)]
pub enum OAuthErrors {
    /// The request violates OAuth.
    #[response(status = 400)]
    Malformed,
    /// The client could not be authenticated.
    #[response(status = 401)]
    UnknownClient,
}

/// An error of an OAuth endpoint.
#[derive(Debug)]
pub struct OAuthErrorResponse {
    status: StatusCode,
    error: &'static str,
    description: Cow<'static, str>,
    /// The time in whole seconds after which to retry.
    retry_after: Option<u32>,
    /// The cause, which is only logged.
    source: Option<BoxError>,
}

impl OAuthErrorResponse {
    fn new(
        status: StatusCode,
        error: &'static str,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            error,
            description: description.into(),
            retry_after: (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
            source: None,
        }
    }

    /// Creates an error that is temporary.
    fn temporary(status: StatusCode, wait: Duration, error: &OAuthError) -> Self {
        Self {
            retry_after: Some(seconds_to_wait(wait)),
            ..Self::new(status, "temporarily_unavailable", error.to_string())
        }
    }

    /// Creates an error of the service itself.
    fn from_problem(code: ProblemCode, cause: impl Into<BoxError>) -> Self {
        Self {
            source: Some(cause.into()),
            ..Self::from_status(code.status())
        }
    }

    /// Creates an error for a status that has nothing to do with OAuth.
    fn from_status(status: u16) -> Self {
        let (error, description) = match status {
            404 => ("invalid_request", "no such endpoint"),
            405 => ("invalid_request", "use the method POST"),
            408 => ("invalid_request", "the body did not arrive in time"),
            413 => ("invalid_request", "the body is too large"),
            414 => ("invalid_request", "the address is too long"),
            415 => (
                "invalid_request",
                "send the body without a Content-Encoding",
            ),
            429 => ("temporarily_unavailable", "too many requests, retry later"),
            503 => (
                "temporarily_unavailable",
                "temporarily unavailable, retry later",
            ),
            400..=499 => ("invalid_request", "the request is malformed"),
            _ => ("server_error", "internal server error"),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, error, description)
    }

    fn body(&self) -> Bytes {
        let body = ErrorBody {
            error: self.error,
            error_description: self.description.clone(),
        };
        serde_json::to_vec(&body).unwrap_or_default().into()
    }
}

/// Returns the body for an error of the middleware in front of these endpoints.
pub fn error_body(code: ProblemCode) -> Bytes {
    OAuthErrorResponse::from_status(code.status()).body()
}

impl From<OAuthError> for OAuthErrorResponse {
    fn from(error: OAuthError) -> Self {
        let (status, code) = match error {
            OAuthError::InvalidRequest(_) => (StatusCode::BAD_REQUEST, "invalid_request"),
            OAuthError::InvalidClient => (StatusCode::UNAUTHORIZED, "invalid_client"),
            // The keys are not fetched more often.
            OAuthError::KeysUnavailable(_) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                return Self::temporary(status, MIN_FETCH_INTERVAL, &error);
            }
            OAuthError::RateLimited { wait } => {
                return Self::temporary(StatusCode::TOO_MANY_REQUESTS, wait, &error);
            }
            OAuthError::InvalidGrant => (StatusCode::BAD_REQUEST, "invalid_grant"),
            OAuthError::UnsupportedGrantType => (StatusCode::BAD_REQUEST, "unsupported_grant_type"),
            OAuthError::InvalidScope(_) => (StatusCode::BAD_REQUEST, "invalid_scope"),
            OAuthError::InvalidTarget => (StatusCode::BAD_REQUEST, "invalid_target"),
            OAuthError::Store(error) | OAuthError::SigningKeys(SigningKeyError::Store(error)) => {
                return error.into();
            }
            OAuthError::SigningKeys(
                error @ (SigningKeyError::Unreadable { .. }
                | SigningKeyError::Missing
                | SigningKeyError::Contended
                | SigningKeyError::Cryptography),
            ) => return Self::from_problem(ProblemCode::Internal, error),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<RepositoryError> for OAuthErrorResponse {
    fn from(error: RepositoryError) -> Self {
        Self::from_problem(store_problem(&error), error)
    }
}

impl fmt::Display for OAuthErrorResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.error)
    }
}

impl ResponseError for OAuthErrorResponse {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        response.content_type("application/json");
        if self.status == StatusCode::UNAUTHORIZED {
            response.insert_header((header::WWW_AUTHENTICATE, CHALLENGE));
        }
        if let Some(seconds) = self.retry_after {
            response.insert_header((header::RETRY_AFTER, seconds));
        }
        let mut response = response.body(self.body());
        if self.status.is_server_error() {
            FailureCause::attach(&mut response, self.source.as_ref());
        }
        response
    }
}

#[cfg(test)]
mod tests;
