//! Errors as OpenAI clients read them.

use actix_web::http::header::{HeaderName, HeaderValue};
use domain::{Problem, ProblemCode, problem::ProblemFault};
use serde::Serialize;

use kit::operations::ErrorBody;

/// Decides whether the official clients repeat a request, whatever its status is.
const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The data of an error: the body of a response, or the last data of a stream.
#[derive(Debug, Serialize)]
pub(super) struct ErrorData {
    error: ErrorObject,
}

#[derive(Debug, Serialize)]
struct ErrorObject {
    message: String,
    #[serde(rename = "type")]
    kind: &'static str,
    param: Option<String>,
    code: ProblemCode,
    request_id: Option<String>,
}

/// Writes an error, and whether the client is to repeat the request.
pub(super) fn body(problem: &Problem) -> ErrorBody {
    let should_retry = if is_worth_repeating(problem) {
        "true"
    } else {
        "false"
    };
    // Serialization cannot fail: the data contains only text.
    let text = serde_json::to_string(&ErrorData::of(problem)).unwrap_or_default();
    ErrorBody {
        status: status(problem),
        media_type: "application/json",
        text,
        headers: vec![(X_SHOULD_RETRY, HeaderValue::from_static(should_retry))],
    }
}

impl ErrorData {
    /// Creates the data of a problem.
    pub(super) fn of(problem: &Problem) -> Self {
        let kind = match problem.status {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        Self {
            error: ErrorObject {
                message: message(problem),
                kind,
                param: param(problem),
                code: problem.code,
                request_id: problem.request_id.clone(),
            },
        }
    }
}

/// Returns the status: these clients expect 400 for every body that is not valid.
const fn status(problem: &Problem) -> u16 {
    match problem.status {
        422 => 400,
        status => status,
    }
}

/// The longest time for which the official clients wait before they repeat a request.
const MAX_WAIT_SECONDS: u32 = 60;

/// Returns whether the client should repeat the request. A busy conversation takes longer than the few
/// seconds for which the official clients wait, and so does the next day of a quota.
fn is_worth_repeating(problem: &Problem) -> bool {
    let is_soon = problem
        .retry_after
        .is_none_or(|wait| wait <= MAX_WAIT_SECONDS);
    problem.retryable && problem.code != ProblemCode::ConversationBusy && is_soon
}

/// Returns the title and the detail or, since there is no member for them, the faults.
fn message(problem: &Problem) -> String {
    if problem.errors.is_empty() {
        return format!("{} {}", problem.title, problem.detail);
    }
    let faults = problem.errors.iter().map(|fault| match place(fault) {
        Some(place) => format!("{place}: {}", fault.detail),
        None => fault.detail.clone(),
    });
    let faults: Vec<String> = faults.collect();
    format!("{} {}", problem.title, faults.join("; "))
}

fn param(problem: &Problem) -> Option<String> {
    if problem.code == ProblemCode::AgentNotFound {
        return Some("model".to_owned());
    }
    problem.errors.first().and_then(place)
}

/// Returns the place of a fault: `messages[0].content` for the pointer `/messages/0/content`.
fn place(fault: &ProblemFault) -> Option<String> {
    let named = fault.parameter.clone().or_else(|| fault.header.clone());
    let Some(pointer) = fault.pointer.as_deref() else {
        return named;
    };
    let mut place = String::new();
    for token in pointer.split('/').skip(1) {
        if token.bytes().all(|byte| byte.is_ascii_digit()) {
            place.extend(["[", token, "]"]);
        } else {
            let dot = if place.is_empty() { "" } else { "." };
            place.extend([dot, token]);
        }
    }
    (!place.is_empty()).then_some(place)
}

#[cfg(test)]
mod tests {
    use domain::{FaultCode, InputFault};
    use serde_json::{Value, json};

    use super::*;

    fn written(problem: &Problem) -> (u16, Value, String) {
        let body = body(problem);
        let data = serde_json::from_str(&body.text).unwrap();
        let should_retry = body.headers[0].1.to_str().unwrap().to_owned();
        (body.status, data, should_retry)
    }

    #[test]
    fn an_error_has_title_and_detail_and_the_code() {
        let (status, data, should_retry) = written(&Problem::new(ProblemCode::AgentNotFound));
        assert_eq!((status, &*should_retry), (404, "false"));
        let expected = json!({"error": {
            "message": "The agent does not exist. Check the id; the agent may have been deleted.",
            "type": "invalid_request_error", "param": "model", "code": "agent_not_found",
            "request_id": null,
        }});
        assert_eq!(data, expected);
    }

    #[test]
    fn faults_are_part_of_the_message() {
        let faults = ["/messages/0/content/1", "/n"];
        let faults = faults.map(|at| InputFault::new(at, FaultCode::NotCombinable, "not this"));
        let problem = Problem {
            errors: faults.map(ProblemFault::from).into(),
            ..Problem::new(ProblemCode::ValidationFailed)
        };
        let (status, data, _) = written(&problem);
        assert_eq!(status, 400);
        let message = "The request is well-formed but not valid. \
                       messages[0].content[1]: not this; n: not this";
        assert_eq!(data["error"]["message"], message);
        assert_eq!(data["error"]["param"], "messages[0].content[1]");
    }

    #[test]
    fn clients_repeat_only_what_can_succeed_soon() {
        for (code, expected) in [
            (ProblemCode::ConversationBusy, "false"),
            (ProblemCode::TurnCancelled, "false"),
            (ProblemCode::EngineFailed, "false"),
            (ProblemCode::RateLimited, "true"),
            (ProblemCode::EngineUnavailable, "true"),
            (ProblemCode::Interrupted, "true"),
        ] {
            assert_eq!(written(&Problem::new(code)).2, expected, "{code:?}");
        }
    }
}
