//! The bodies of problems.

use domain::{ConversationId, Problem, ProblemCode, TurnId, fault::list::MAX_FAULTS};
use ports::ToldCause;
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiError, LimitPolicy};

/// The detail of `unauthenticated` on a socket.
const CONNECT_FIRST: &str = "Send `connect` first, with an API key or an access token in `token`.";

/// A problem, with the members that only some codes have.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProblemBody {
    #[serde(flatten)]
    problem: Problem,
    /// The exceeded rate limits, by their names in `RateLimit-Policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, nullable = false)]
    violated_policies: Option<[LimitPolicy; 1]>,
    /// For `cursor_expired`: the `seq` of the oldest event in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    first_seq: Option<i64>,
    /// For `cursor_expired`: the `seq` of the newest event in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    head_seq: Option<i64>,
    /// For `action_decided`: the status of the tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    call_status: Option<Box<str>>,
    /// For a chat whose turn was stored: the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    turn_id: Option<TurnId>,
    /// For a chat whose turn was stored: its conversation, also if the chat created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    conversation_id: Option<ConversationId>,
}

impl ProblemBody {
    /// Creates the body for a client on a socket, which receives nothing beside it.
    pub fn on_socket(error: &ApiError, request_id: String) -> Self {
        let mut body = Self::new(error, problem(error, None, Some(request_id)));
        // The default detail of the code describes headers, but sockets authenticate with a
        // command.
        if error.code == ProblemCode::Unauthenticated && error.detail.is_none() {
            body.problem.detail = CONNECT_FIRST.into();
        }
        body
    }

    /// Creates the body of a response with this problem.
    pub(super) fn new(error: &ApiError, problem: Problem) -> Self {
        let bounds = error.log_bounds.as_deref();
        let turn = error.turn.as_deref();
        Self {
            problem,
            violated_policies: error.violated_policy.map(|policy| [policy]),
            first_seq: bounds.map(|(first, _)| *first),
            head_seq: bounds.map(|(_, head)| *head),
            call_status: error.call_status.clone(),
            turn_id: turn.map(|(turn, _)| *turn),
            conversation_id: turn.map(|(_, conversation)| *conversation),
        }
    }
}

/// Creates the problem, without the members that only some codes have.
pub fn problem(error: &ApiError, instance: Option<String>, request_id: Option<String>) -> Problem {
    let mut problem = Problem::new(error.code);
    if error.code.status() < 500
        && let Some(detail) = &error.detail
    {
        problem.detail.clone_from(detail);
    }
    let is_of_request = problem.status < 500;
    if is_of_request && error.detail.is_none() && !error.faults.is_empty() {
        let count = error.faults.len();
        problem.detail = match count {
            1 => "The request has 1 fault; see `errors`.".into(),
            MAX_FAULTS.. => {
                format!("The request has at least {count} faults; see `errors`.").into()
            }
            _ => format!("The request has {count} faults; see `errors`.").into(),
        };
    }
    problem.instance = instance;
    problem.request_id = request_id;
    problem.retry_after = retry_after(error);
    problem.retryable = error.retryable;
    problem.errors.clone_from(&error.faults);
    let source = error.source.as_ref();
    let told = source.and_then(|source| source.downcast_ref::<ToldCause>());
    problem.cause = told.map(|ToldCause(cause)| cause.as_str().into());
    problem
}

/// Returns the whole seconds after which to retry.
pub(super) fn retry_after(error: &ApiError) -> Option<u32> {
    error.retry_after.or(error.code.default_retry_after())
}
