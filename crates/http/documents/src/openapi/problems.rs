//! The problems that operations can return.

use domain::ProblemCode;
use kit::operations::{Access, Operation, Served};
use serde_json::Value;

/// The problems that an operation can return besides those that its handler declares.
pub(super) fn problems(operation: &Operation, described: &Value) -> Vec<ProblemCode> {
    use ProblemCode as Code;
    let mut codes = vec![Code::UriTooLong, Code::Internal];
    let (is_api, is_oauth) = (operation.is_api(), operation.is_oauth());
    // Errors in forms follow RFC 6749.
    let has_body = !is_oauth && !described["requestBody"].is_null();
    let has_query = described["parameters"]
        .as_array()
        .is_some_and(|all| all.iter().any(|parameter| parameter["in"] == "query"));
    if is_api {
        codes.push(Code::NotAcceptable);
    }
    if !operation.unlimited {
        codes.push(Code::RateLimited);
    }
    if is_api || is_oauth || operation.drains_body {
        // A request may have a body even if the operation uses none.
        codes.extend([
            Code::RequestTimeout,
            Code::BodyTooLarge,
            Code::UnsupportedMediaType,
            Code::InvalidHeader,
        ]);
    }
    if operation.needs_store || is_api || is_oauth {
        codes.push(Code::StoreUnavailable);
    }
    if operation.served != Served::Here {
        codes.push(Code::HomeUnavailable);
    }
    if operation.access != Access::Public {
        codes.extend([Code::Unauthenticated, Code::StoreUnavailable]);
        codes.push(Code::InsufficientScope);
    }
    if operation.names_resource() {
        codes.push(operation.not_found());
    }
    // The API itself rejects unknown query parameters.
    if has_body || has_query || is_api {
        codes.push(Code::ValidationFailed);
    }
    if operation.idempotent {
        codes.push(Code::IdempotencyKeyReused);
        if operation.credentials.is_some() {
            codes.push(Code::IdempotencyKeyUsed);
        }
    }
    if operation.conditional {
        codes.push(Code::VersionMismatch);
    }
    codes
}
