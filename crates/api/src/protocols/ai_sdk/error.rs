//! Errors as the AI SDK shows them: its chat reports the text of the response.

use domain::Problem;

use crate::protocols::ErrorBody;

/// Writes an error as one line of text, with the code and the request id.
pub(super) fn body(problem: &Problem) -> ErrorBody {
    ErrorBody {
        status: problem.status,
        media_type: "text/plain; charset=utf-8",
        text: text(problem),
        headers: Vec::new(),
    }
}

/// Returns the text of an error.
pub(super) fn text(problem: &Problem) -> String {
    let code = problem.code.slug();
    match &problem.request_id {
        Some(request_id) => format!("{} ({code}, request {request_id})", problem.detail),
        None => format!("{} ({code})", problem.detail),
    }
}
