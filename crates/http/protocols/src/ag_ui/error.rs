//! Errors before a run has started, in the form of the event `RUN_ERROR`.

use domain::Problem;
use serde_json::json;

use kit::operations::ErrorBody;

/// Writes an error.
pub(super) fn body(problem: &Problem) -> ErrorBody {
    let text = json!({
        "type": "RUN_ERROR",
        "message": problem.text(),
        "code": problem.code,
        "requestId": problem.request_id,
        "retryable": problem.retryable,
        "retryAfter": problem.retry_after,
        "errors": problem.errors,
    });
    ErrorBody {
        status: problem.status,
        media_type: "application/json",
        text: text.to_string(),
        headers: Vec::new(),
    }
}
