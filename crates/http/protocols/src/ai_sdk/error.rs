//! Errors as the AI SDK shows them: its chats report the text of the response, or of the part.

use domain::Problem;

use kit::operations::ErrorBody;

/// Writes an error as one line of text, with the code and the request id.
pub(super) fn body(problem: &Problem) -> ErrorBody {
    ErrorBody {
        status: problem.status,
        media_type: "text/plain; charset=utf-8",
        text: text(problem),
        headers: Vec::new(),
    }
}

/// Returns the text of a problem, then its code and the request id in parentheses.
pub(super) fn text(problem: &Problem) -> String {
    let (text, code) = (problem.text(), problem.code.as_str());
    match &problem.request_id {
        Some(request_id) => format!("{text} ({code}, request {request_id})"),
        None => format!("{text} ({code})"),
    }
}

#[cfg(test)]
mod tests {
    use domain::ProblemCode;

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
}
