//! Which problems an operation can answer with.

use domain::ProblemCode;
use serde_json::Value;

use super::operation::Operation;
use crate::access::scope_table::Access;

/// The problems that an operation can answer with besides those its handler declares.
pub(super) fn problems(operation: &Operation<'_>, described: &Value) -> Vec<ProblemCode> {
    use ProblemCode as Code;
    let mut codes = vec![Code::UriTooLong, Code::Internal];
    let (path, access) = (operation.path, operation.access);
    let (is_api, is_oauth) = (operation.is_api(), operation.is_oauth());
    // What is wrong with a form is told in the words of OAuth.
    let has_body = !is_oauth && !described["requestBody"].is_null();
    let has_query = described["parameters"]
        .as_array()
        .is_some_and(|all| all.iter().any(|parameter| parameter["in"] == "query"));
    if is_api {
        codes.push(Code::NotAcceptable);
    }
    // Signs of life are counted nowhere.
    if !matches!(path, "/livez" | "/readyz") {
        codes.push(Code::RateLimited);
    }
    if is_api || is_oauth || path == "/metrics" {
        // A request may carry a body even where none is read.
        codes.extend([
            Code::RequestTimeout,
            Code::BodyTooLarge,
            Code::UnsupportedMediaType,
            Code::InvalidHeader,
        ]);
    }
    if path == "/readyz" || is_api || is_oauth {
        codes.push(Code::StoreUnavailable);
    }
    if access != Access::Public {
        codes.extend([Code::Unauthenticated, Code::StoreUnavailable]);
        codes.push(Code::InsufficientScope);
    }
    if path.contains('{') || (has_body && operation.names_something()) {
        codes.push(operation.not_found());
    }
    if has_body || has_query {
        codes.push(Code::ValidationFailed);
    }
    if operation.takes_idempotency_key() {
        codes.push(Code::IdempotencyKeyReused);
        if operation.credentials().is_some() {
            codes.push(Code::IdempotencyKeyUsed);
        }
    }
    if operation.is_conditional_write() {
        codes.push(Code::VersionMismatch);
    }
    codes
}
