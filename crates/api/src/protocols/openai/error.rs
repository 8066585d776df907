//! Errors as OpenAI clients read them.

use actix_web::http::header::{HeaderName, HeaderValue};
use domain::Problem;
use serde_json::json;

use crate::protocols::ErrorBody;

/// Decides whether the official clients repeat a request, whatever its status is.
const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Writes an error, and whether the client is to repeat the request.
pub(super) fn body(problem: &Problem) -> ErrorBody {
    let should_retry = if problem.retryable { "true" } else { "false" };
    ErrorBody {
        media_type: "application/json",
        text: json!({ "error": error(problem) }).to_string(),
        headers: vec![(X_SHOULD_RETRY, HeaderValue::from_static(should_retry))],
    }
}

/// Returns the error object.
pub(super) fn error(problem: &Problem) -> serde_json::Value {
    let kind = match problem.status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({
        "message": problem.detail,
        "type": kind,
        "param": problem.errors.first().and_then(|fault| fault.pointer.as_deref()),
        "code": problem.code,
        "request_id": problem.request_id,
    })
}
