//! Refusals in the words of OAuth.

use std::{borrow::Cow, fmt, time::Duration};

use actix_web::{
    HttpResponse, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
    web::Bytes,
};
use application::access::{
    server::{OAuthError, SigningKeyError},
    tokens::PAUSE_BETWEEN_FETCHES,
};
use domain::ProblemCode;
use ports::{BoxError, RepositoryError};
use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use crate::problem::{FailureCause, seconds_to_wait, store_problem};

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
    error_description: Cow<'static, str>,
}

/// The refusals that every endpoint has, as the document tells them.
#[derive(IntoResponses)]
pub enum Refusals {
    /// The request is not as OAuth wants it.
    #[response(status = 400)]
    Malformed,
    /// The client could not be authenticated.
    #[response(status = 401)]
    UnknownClient,
}

/// A refusal on its way to the client.
#[derive(Debug)]
pub struct OAuthRefusal {
    status: StatusCode,
    error: &'static str,
    description: Cow<'static, str>,
    /// Seconds after which the same may succeed.
    retry_after: Option<u32>,
    /// The cause, for the log alone.
    source: Option<BoxError>,
}

impl OAuthRefusal {
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

    /// A refusal that ends by itself after a while.
    fn for_now(status: StatusCode, wait: Duration, error: &OAuthError) -> Self {
        Self {
            retry_after: Some(seconds_to_wait(wait)),
            ..Self::new(status, "temporarily_unavailable", error.to_string())
        }
    }

    /// A problem of the service itself.
    fn of_problem(code: ProblemCode, cause: impl Into<BoxError>) -> Self {
        Self {
            source: Some(cause.into()),
            ..Self::of_status(code.status())
        }
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
            error_description: self.description.clone(),
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
        let (status, word) = match error {
            OAuthError::InvalidRequest(_) => (StatusCode::BAD_REQUEST, "invalid_request"),
            OAuthError::InvalidClient => (StatusCode::UNAUTHORIZED, "invalid_client"),
            // The keys are not asked for more often.
            OAuthError::KeysUnavailable(_) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                return Self::for_now(status, PAUSE_BETWEEN_FETCHES, &error);
            }
            OAuthError::RateLimited { wait } => {
                return Self::for_now(StatusCode::TOO_MANY_REQUESTS, wait, &error);
            }
            OAuthError::InvalidGrant => (StatusCode::BAD_REQUEST, "invalid_grant"),
            OAuthError::UnsupportedGrantType => (StatusCode::BAD_REQUEST, "unsupported_grant_type"),
            OAuthError::InvalidScope => (StatusCode::BAD_REQUEST, "invalid_scope"),
            OAuthError::InvalidTarget => (StatusCode::BAD_REQUEST, "invalid_target"),
            OAuthError::Store(error) | OAuthError::SigningKeys(SigningKeyError::Store(error)) => {
                return error.into();
            }
            OAuthError::SigningKeys(
                error @ (SigningKeyError::Unreadable { .. }
                | SigningKeyError::Missing
                | SigningKeyError::Contended
                | SigningKeyError::Cryptography),
            ) => return Self::of_problem(ProblemCode::Internal, error),
        };
        Self::new(status, word, error.to_string())
    }
}

impl From<RepositoryError> for OAuthRefusal {
    fn from(error: RepositoryError) -> Self {
        Self::of_problem(store_problem(&error), error)
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
mod tests {
    use application::access::tokens::KeysUnavailable;

    use super::*;

    /// What may stand in a description (RFC 6749, 5.2).
    fn is_allowed(text: &str) -> bool {
        text.bytes()
            .all(|byte| matches!(byte, 0x20..=0x7e) && !b"\"\\".contains(&byte))
    }

    #[test]
    fn every_refusal_has_its_word_and_a_sentence_that_oauth_allows() {
        for (error, status, word) in [
            (
                OAuthError::InvalidRequest("no form"),
                400,
                "invalid_request",
            ),
            (OAuthError::InvalidClient, 401, "invalid_client"),
            (
                OAuthError::KeysUnavailable(KeysUnavailable),
                503,
                "temporarily_unavailable",
            ),
            (
                OAuthError::RateLimited {
                    wait: Duration::from_millis(1_001),
                },
                429,
                "temporarily_unavailable",
            ),
            (OAuthError::InvalidGrant, 400, "invalid_grant"),
            (
                OAuthError::UnsupportedGrantType,
                400,
                "unsupported_grant_type",
            ),
            (OAuthError::InvalidScope, 400, "invalid_scope"),
            (OAuthError::InvalidTarget, 400, "invalid_target"),
        ] {
            let sentence = error.to_string();
            let refusal = OAuthRefusal::from(error);
            assert_eq!((refusal.status.as_u16(), refusal.error), (status, word));
            assert_eq!(refusal.description, sentence);
            assert!(is_allowed(&sentence), "{sentence}");
        }
    }

    #[test]
    fn who_asks_too_often_is_told_when_to_ask_again() {
        let wait = Duration::from_millis(1_001);
        for (error, expected) in [
            (OAuthError::RateLimited { wait }, Some("2")),
            (OAuthError::KeysUnavailable(KeysUnavailable), Some("30")),
            (OAuthError::InvalidClient, None),
        ] {
            let answer = OAuthRefusal::from(error).error_response();
            let told = answer.headers().get(header::RETRY_AFTER);
            assert_eq!(told.map(|told| told.to_str().unwrap()), expected);
        }
    }

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
            assert!(is_allowed(description), "{description}");
        }
    }
}
