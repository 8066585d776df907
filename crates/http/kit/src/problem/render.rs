//! Converts errors into responses.

use std::sync::Arc;

use access::AuthContext;
use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse, ResponseError as _,
    dev::{ServiceResponse, Url},
    http::{
        Method, StatusCode,
        header::{self, HeaderValue},
    },
};
use domain::{ProblemCode, Scope, problem::base_path};
use ports::BoxError;

use super::{
    ApiError,
    body::{ProblemBody, problem, retry_after},
    oauth,
};
use crate::{
    layers::RequestId,
    operations::{self, OperationTable},
    region::{HOME, X_SERVED_BY},
    request::{REPLAYED, routed_path},
};

/// The media type of every problem.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";
/// The media type of errors of the OAuth endpoints.
const OAUTH_JSON: &str = "application/json";

/// The cause of a 5xx, if known, which is passed to the log with the response.
pub(crate) struct FailureCause(pub Option<String>);

impl FailureCause {
    /// Attaches the cause to a response.
    pub(crate) fn attach(response: &mut HttpResponse, cause: Option<&BoxError>) {
        let chain = cause.map(|cause| ports::error::one_line(&**cause));
        response.extensions_mut().insert(Self(chain));
    }
}

/// Creates the response to an error. The layers know the requested URL and the request id.
pub fn respond(
    error: &ApiError,
    table: &OperationTable,
    requested: &Url,
    request_id: Option<String>,
) -> HttpResponse {
    respond_to(error, table, requested, request_id, false)
}

/// Creates the response to an error, for a caller who may know why engines fail or not.
fn respond_to(
    error: &ApiError,
    table: &OperationTable,
    requested: &Url,
    request_id: Option<String>,
    is_told_causes: bool,
) -> HttpResponse {
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
    let mut problem = problem(error, Some(instance), request_id);
    if is_told_causes {
        problem = problem.with_cause_told();
    }
    let (media_type, body) = if operations::is_oauth(requested.path()) {
        (OAUTH_JSON, oauth::error_body(error.code))
    } else if let Some(protocol) = table.protocol_of(requested.path()) {
        let body = (protocol.error_body)(&problem);
        response.status(StatusCode::from_u16(body.status).unwrap_or(status));
        for header in body.headers {
            response.insert_header(header);
        }
        (body.media_type, body.text.into_bytes().into())
    } else {
        let body = ProblemBody::new(error, problem);
        (
            PROBLEM_JSON,
            serde_json::to_vec(&body).unwrap_or_default().into(),
        )
    };
    response.content_type(media_type);
    let mut response = response.body(body);
    if error.is_failure() {
        FailureCause::attach(&mut response, error.source.as_ref());
    }
    response
}

/// Converts every response of 400 and above into a problem with the request id: adds path and
/// request id to errors of handlers and layers, and a body to responses of the framework. A plain
/// OPTIONS request receives 204 with the methods of the path.
pub(crate) fn into_problem(response: ServiceResponse, table: &OperationTable) -> ServiceResponse {
    let status = response.status();
    if status.as_u16() < 400 {
        return response;
    }
    let request = response.request();
    if status == StatusCode::METHOD_NOT_ALLOWED && response.response().error().is_none() {
        return method_not_allowed(response, table);
    }
    let requested = request.match_info().get_ref();
    let request_id = RequestId::of(request);
    let error = response.response().error();
    let filled = match error.and_then(actix_web::Error::as_error::<ApiError>) {
        Some(error) => respond_to(error, table, requested, request_id, is_told_causes(request)),
        None if has_error_body(&response) => return response,
        None => respond(
            &ApiError::new(code_of(status)),
            table,
            requested,
            request_id,
        ),
    };
    replace(response, filled)
}

/// Returns true if the caller may configure agents, and so may know why their engines fail.
fn is_told_causes(request: &HttpRequest) -> bool {
    let extensions = request.extensions();
    let caller = extensions.get::<Arc<AuthContext>>();
    caller.is_some_and(|it| it.principal.scopes.contains(Scope::AgentsWrite))
}

/// Returns true if a response already has the body of an error, as all of the home region do.
fn has_error_body(response: &ServiceResponse) -> bool {
    let served_by = response.headers().get(X_SERVED_BY);
    if served_by.is_some_and(|it| *it == HOME) {
        return true;
    }
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
fn method_not_allowed(response: ServiceResponse, table: &OperationTable) -> ServiceResponse {
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
            table,
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
