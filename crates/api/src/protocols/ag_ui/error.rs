//! Errors before a run has started, in the form of the event `RUN_ERROR`.

use std::fmt::Write as _;

use domain::Problem;
use serde_json::json;

use crate::protocols::ErrorBody;

/// Writes an error.
pub(super) fn body(problem: &Problem) -> ErrorBody {
    let text = json!({
        "type": "RUN_ERROR",
        "message": message(problem),
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

/// Returns the message of an error: title and detail, and the faults of the request.
pub(super) fn message(problem: &Problem) -> String {
    let mut message = problem.title.to_string();
    if problem.errors.is_empty() {
        message.push(' ');
        message.push_str(&problem.detail);
    }
    for fault in &problem.errors {
        let named = [&fault.pointer, &fault.parameter, &fault.header];
        let name = named.into_iter().flatten().next();
        let name = name.map_or("", String::as_str);
        // Writing to a string cannot fail.
        let _ = match name {
            "" => write!(message, " {}.", fault.detail),
            name => write!(message, " {name}: {}.", fault.detail),
        };
    }
    message
}

#[cfg(test)]
mod tests {
    use domain::{FaultCode, InputFault, ProblemCode};

    use super::*;

    #[test]
    fn a_message_has_the_title_and_what_is_wrong() {
        let busy = Problem::new(ProblemCode::ConversationBusy);
        assert_eq!(
            message(&busy),
            "A turn is in progress in this conversation. Wait for it to end, or let the turn queue."
        );
        let mut invalid = Problem::new(ProblemCode::ValidationFailed);
        let fault = InputFault::new("/threadId", FaultCode::BadFormat, "must be a key");
        invalid.errors.push(fault.into());
        assert_eq!(
            message(&invalid),
            "The request is well-formed but not valid. /threadId: must be a key."
        );
    }
}
