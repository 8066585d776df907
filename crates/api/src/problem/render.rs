//! From an error to the bytes that leave.

use actix_web::{
    HttpResponse, ResponseError as _,
    dev::{ServiceResponse, Url},
    http::{
        Method, StatusCode,
        header::{self, HeaderValue},
    },
};
use domain::{ConversationId, Problem, ProblemCode, TurnId, problem::base_path};
use ports::BoxError;
use serde::Serialize;
use utoipa::ToSchema;

use super::{ApiError, LimitPolicy};
use crate::{
    body::MOST_FAULTS,
    layers::RequestId,
    oauth,
    request::{REPLAYED, routed_path},
};

/// The media type of every problem.
pub const PROBLEM_JSON: &str = "application/problem+json";
/// The media type of refusals in the words of OAuth.
const OAUTH_JSON: &str = "application/json";
/// What a socket is told that nobody has shown a credential on.
const SHOW_A_TOKEN: &str =
    "Send `connect` first, with an API key or an access token as its `token`.";

/// A problem with what only some codes carry.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProblemBody {
    #[serde(flatten)]
    problem: Problem,
    /// The limits that refused, by their names in `RateLimit-Policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, nullable = false)]
    violated_policies: Option<[LimitPolicy; 1]>,
    /// Of `cursor_expired`: the oldest event still there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    first_seq: Option<i64>,
    /// Of `cursor_expired`: the newest event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    head_seq: Option<i64>,
    /// Of a chat whose turn was stored: that turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    turn_id: Option<TurnId>,
    /// Of a chat whose turn was stored: its conversation, also when the chat has begun it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    conversation_id: Option<ConversationId>,
}

impl ProblemBody {
    /// What an error says to a client on a socket, where nothing stands beside the body.
    pub fn on_socket(error: &ApiError, request_id: String) -> Self {
        let mut body = Self::new(error, None, Some(request_id));
        // What the code tells everybody to do with headers is done here with a member of a frame.
        if error.code == ProblemCode::Unauthenticated && error.detail.is_none() {
            body.problem.detail = SHOW_A_TOKEN.into();
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
            MOST_FAULTS.. => {
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

/// Whole seconds after which to try again.
fn retry_after(error: &ApiError) -> Option<u32> {
    error.retry_after.or(error.code.usual_wait())
}

/// Why an answer is a 5xx, on its way to the log.
pub struct FailureCause(pub String);

impl FailureCause {
    /// Sends the cause along with an answer.
    pub fn attach(response: &mut HttpResponse, cause: Option<&BoxError>) {
        let told = cause.map(|cause| ports::error::chain(&**cause));
        let told = Self(told.unwrap_or_default());
        response.extensions_mut().insert(told);
    }
}

/// Writes an error's answer to what was asked; that and the request id only the layers know.
pub fn respond(error: &ApiError, asked: &Url, request_id: Option<String>) -> HttpResponse {
    let instance = format!("{}{}", base_path(), asked.uri().path());
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
        // What is left of the request is not worth reading.
        response.force_close();
    }
    let (media_type, body) = if oauth::is_endpoint(asked.path()) {
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
    // To leave in order is no failure.
    if status.is_server_error() && error.code != ProblemCode::Draining {
        FailureCause::attach(&mut response, error.source.as_ref());
    }
    response
}

/// Makes every answer of 400 and above a problem of this service that names its request: errors
/// of handlers and layers get path and request id, what the framework answers by itself gets a
/// body. Plain OPTIONS becomes 204 with the methods of the path.
pub fn fill_in(response: ServiceResponse) -> ServiceResponse {
    let status = response.status();
    if status.as_u16() < 400 {
        return response;
    }
    let request = response.request();
    if status == StatusCode::METHOD_NOT_ALLOWED && response.response().error().is_none() {
        return method_not_allowed(response);
    }
    let asked = request.match_info().get_ref();
    let request_id = RequestId::of(request);
    let error = response.response().error();
    let filled = match error.and_then(actix_web::Error::as_error::<ApiError>) {
        Some(error) => respond(error, asked, request_id),
        None if is_finished(&response) => return response,
        None => respond(&ApiError::new(code_of(status)), asked, request_id),
    };
    in_place_of(response, filled)
}

/// Whether an answer has the body of a refusal already.
fn is_finished(response: &ServiceResponse) -> bool {
    let expected = if oauth::is_endpoint(routed_path(response.request())) {
        OAUTH_JSON
    } else {
        PROBLEM_JSON
    };
    let media_type = response.headers().get(header::CONTENT_TYPE);
    media_type.is_some_and(|it| it == expected)
}

/// Puts an answer in the place of another, with those of its headers that the new one lacks.
fn in_place_of(response: ServiceResponse, mut answer: HttpResponse) -> ServiceResponse {
    let (request, old) = response.into_parts();
    for (name, value) in old.headers() {
        if *name != header::CONTENT_TYPE && !answer.headers().contains_key(name) {
            answer.headers_mut().append(name.clone(), value.clone());
        }
    }
    ServiceResponse::new(request, answer)
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
    let mut answer = if request.method() == Method::OPTIONS {
        HttpResponse::NoContent().finish()
    } else {
        let error = ApiError::new(ProblemCode::MethodNotAllowed);
        respond(
            &error,
            request.match_info().get_ref(),
            RequestId::of(request),
        )
    };
    answer.headers_mut().insert(header::ALLOW, allow);
    in_place_of(response, answer)
}

/// The code of what the framework refuses by itself.
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
