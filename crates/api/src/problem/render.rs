//! Converts errors into responses.

use actix_web::{
    HttpResponse, ResponseError as _,
    dev::{ServiceResponse, Url},
    http::{
        Method, StatusCode,
        header::{self, HeaderValue},
    },
};
use domain::{
    ConversationId, Problem, ProblemCode, TurnId, faults::MAX_FAULTS, problem::base_path,
};
use ports::BoxError;
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiError, LimitPolicy};
use crate::{
    layers::RequestId,
    oauth, operations,
    request::{REPLAYED, routed_path},
};

/// The media type of every problem.
pub const PROBLEM_JSON: &str = "application/problem+json";
/// The media type of errors of the OAuth endpoints.
const OAUTH_JSON: &str = "application/json";
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
        let mut body = Self::new(error, None, Some(request_id));
        // The default detail of the code describes headers, but sockets authenticate with a
        // command.
        if error.code == ProblemCode::Unauthenticated && error.detail.is_none() {
            body.problem.detail = CONNECT_FIRST.into();
        }
        body
    }

    fn new(error: &ApiError, instance: Option<String>, request_id: Option<String>) -> Self {
        let bounds = error.log_bounds.as_deref();
        let turn = error.turn.as_deref();
        Self {
            problem: problem(error, instance, request_id),
            violated_policies: error.violated_policy.map(|policy| [policy]),
            first_seq: bounds.map(|(first, _)| *first),
            head_seq: bounds.map(|(_, head)| *head),
            turn_id: turn.map(|(turn, _)| *turn),
            conversation_id: turn.map(|(_, conversation)| *conversation),
        }
    }
}

fn problem(error: &ApiError, instance: Option<String>, request_id: Option<String>) -> Problem {
    let mut problem = Problem::new(error.code);
    if error.code.status() < 500
        && let Some(detail) = &error.detail
    {
        problem.detail.clone_from(detail);
    }
    if error.detail.is_none() && !error.faults.is_empty() {
        let count = error.faults.len();
        problem.detail = match count {
            1 => "1 fault, see `errors`".into(),
            MAX_FAULTS.. => {
                format!("the first {count} faults, see `errors`; there may be more").into()
            }
            _ => format!("{count} faults, see `errors`").into(),
        };
    }
    problem.instance = instance;
    problem.request_id = request_id;
    problem.retry_after = retry_after(error);
    problem.retryable = error.retryable;
    problem.errors.clone_from(&error.faults);
    problem
}

/// Returns the whole seconds after which to retry.
fn retry_after(error: &ApiError) -> Option<u32> {
    error.retry_after.or(error.code.usual_wait())
}

/// The cause of a 5xx, which is passed to the log with the response.
pub struct FailureCause(pub String);

impl FailureCause {
    /// Attaches the cause to a response.
    pub fn attach(response: &mut HttpResponse, cause: Option<&BoxError>) {
        let chain = cause.map(|cause| ports::error::chain(&**cause));
        let chain = Self(chain.unwrap_or_default());
        response.extensions_mut().insert(chain);
    }
}

/// Creates the response to an error. The layers know the requested URL and the request id.
pub fn respond(error: &ApiError, requested: &Url, request_id: Option<String>) -> HttpResponse {
    let instance = format!("{}{}", base_path(), requested.uri().path());
    let status = error.status_code();
    let mut response = HttpResponse::build(status);
    if let Some(seconds) = retry_after(error) {
        response.insert_header((header::RETRY_AFTER, seconds.to_string()));
    }
    if let Some(challenge) = &error.challenge {
        response.insert_header((header::WWW_AUTHENTICATE, &**challenge));
    }
    if error.code == ProblemCode::UpgradeRequired {
        response.insert_header((header::UPGRADE, "websocket"));
        response.insert_header((header::SEC_WEBSOCKET_VERSION, "13"));
    }
    if error.is_replayed {
        response.insert_header(REPLAYED);
    }
    if matches!(
        error.code,
        ProblemCode::RequestTimeout | ProblemCode::BodyTooLarge | ProblemCode::UriTooLong
    ) {
        // The rest of the request is not worth reading.
        response.force_close();
    }
    let (media_type, body) = if operations::is_oauth(requested.path()) {
        (OAUTH_JSON, oauth::error_body(error.code))
    } else {
        let body = ProblemBody::new(error, Some(instance), request_id);
        (
            PROBLEM_JSON,
            serde_json::to_vec(&body).unwrap_or_default().into(),
        )
    };
    response.content_type(media_type);
    let mut response = response.body(body);
    // An orderly shutdown is not a failure, and neither is a tenant that exceeds its own share.
    let is_expected = match error.code {
        ProblemCode::Draining => true,
        ProblemCode::Overloaded => error.source.is_none(),
        _ => false,
    };
    if status.is_server_error() && !is_expected {
        FailureCause::attach(&mut response, error.source.as_ref());
    }
    response
}

/// Converts every response of 400 and above into a problem with the request id: adds path and
/// request id to errors of handlers and layers, and a body to responses of the framework. A plain
/// OPTIONS request receives 204 with the methods of the path.
pub fn into_problem(response: ServiceResponse) -> ServiceResponse {
    let status = response.status();
    if status.as_u16() < 400 {
        return response;
    }
    let request = response.request();
    if status == StatusCode::METHOD_NOT_ALLOWED && response.response().error().is_none() {
        return method_not_allowed(response);
    }
    let requested = request.match_info().get_ref();
    let request_id = RequestId::of(request);
    let error = response.response().error();
    let filled = match error.and_then(actix_web::Error::as_error::<ApiError>) {
        Some(error) => respond(error, requested, request_id),
        None if has_error_body(&response) => return response,
        None => respond(&ApiError::new(code_of(status)), requested, request_id),
    };
    replace(response, filled)
}

/// Returns true if a response already has the body of an error.
fn has_error_body(response: &ServiceResponse) -> bool {
    let expected = if operations::is_oauth(routed_path(response.request())) {
        OAUTH_JSON
    } else {
        PROBLEM_JSON
    };
    let media_type = response.headers().get(header::CONTENT_TYPE);
    media_type.is_some_and(|it| it == expected)
}

/// Replaces a response. Headers that only the old one has are kept.
fn replace(response: ServiceResponse, mut replacement: HttpResponse) -> ServiceResponse {
    let (request, old) = response.into_parts();
    for (name, value) in old.headers() {
        if *name != header::CONTENT_TYPE && !replacement.headers().contains_key(name) {
            replacement
                .headers_mut()
                .append(name.clone(), value.clone());
        }
    }
    ServiceResponse::new(request, replacement)
}

/// The framework knows the methods of a path; HEAD works wherever GET does.
fn method_not_allowed(response: ServiceResponse) -> ServiceResponse {
    let listed = response
        .headers()
        .get(header::ALLOW)
        .and_then(|value| value.to_str().ok());
    let mut methods: Vec<&str> = listed.unwrap_or_default().split(", ").collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    let allow =
        HeaderValue::from_str(&methods.join(", ")).unwrap_or(HeaderValue::from_static("OPTIONS"));
    let request = response.request();
    let mut replacement = if request.method() == Method::OPTIONS {
        HttpResponse::NoContent().finish()
    } else {
        let error = ApiError::new(ProblemCode::MethodNotAllowed);
        respond(
            &error,
            request.match_info().get_ref(),
            RequestId::of(request),
        )
    };
    replacement.headers_mut().insert(header::ALLOW, allow);
    replace(response, replacement)
}

/// Returns the code for a status that the framework has set by itself.
fn code_of(status: StatusCode) -> ProblemCode {
    match status.as_u16() {
        404 => ProblemCode::RouteNotFound,
        405 => ProblemCode::MethodNotAllowed,
        406 => ProblemCode::NotAcceptable,
        408 => ProblemCode::RequestTimeout,
        413 => ProblemCode::BodyTooLarge,
        414 => ProblemCode::UriTooLong,
        415 => ProblemCode::UnsupportedMediaType,
        400..=499 => ProblemCode::InvalidHeader,
        _ => ProblemCode::Internal,
    }
}
