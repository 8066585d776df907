//! Errors as the AI SDK shows them: its chats report the text of the response, or of the part.

use domain::{Problem, problem::ProblemFault};

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

/// Returns the text of an error: its title and its detail or faults, then its code and the request
/// id in parentheses.
pub(super) fn text(problem: &Problem) -> String {
    let faults: Vec<_> = problem.errors.iter().map(fault).collect();
    let detail = if faults.is_empty() {
        problem.detail.to_string()
    } else {
        faults.join(" ")
    };
    let (title, code) = (&problem.title, problem.code.slug());
    match &problem.request_id {
        Some(request_id) => format!("{title} {detail} ({code}, request {request_id})"),
        None => format!("{title} {detail} ({code})"),
    }
}

fn fault(fault: &ProblemFault) -> String {
    let place = [&fault.pointer, &fault.parameter, &fault.header];
    let place = place.into_iter().flatten().next();
    match place.filter(|place| !place.is_empty()) {
        Some(place) => format!("{place}: {}.", fault.detail),
        None => format!("{}.", fault.detail),
    }
}

#[cfg(test)]
mod tests {
    use domain::{FaultCode, InputFault, ProblemCode};

    use super::*;

    #[test]
    fn a_text_has_the_title_the_detail_the_code_and_the_request_id() {
        let mut problem = Problem::new(ProblemCode::ConversationBusy);
        assert_eq!(
            text(&problem),
            "A turn is in progress in this conversation. Wait for it to end, or let the turn \
             queue. (conversation_busy)"
        );
        problem.request_id = Some("r1".to_owned());
        assert!(text(&problem).ends_with("(conversation_busy, request r1)"));
    }

    #[test]
    fn faults_replace_the_detail() {
        let mut problem = Problem::new(ProblemCode::ValidationFailed);
        let fault = InputFault::new("/message", FaultCode::Required, "required");
        problem.errors = vec![fault.into()];
        let expected = "The request is well-formed but not valid. /message: required. \
                        (validation_failed)";
        assert_eq!(text(&problem), expected);
    }
}
