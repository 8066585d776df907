//! From a request's headers to its principal.

use actix_web::{
    Error, HttpMessage,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderMap},
    middleware::Next,
    web::Data,
};
use application::access::AccessError;
use domain::ProblemCode;

use super::authorized::CHALLENGE;
use crate::{layers::refuse, problem::ApiError, state::ApiState};

const X_API_KEY: &str = "x-api-key";

/// Paths on which credentials are not looked at, by prefix. What else is public still refuses a
/// credential that is bad.
const PUBLIC: &[&str] = &["/livez", "/readyz", "/openapi.json", "/docs", "/problems"];

/// Refuses a bad credential, never a missing one: whether one is needed is known after routing.
pub async fn authenticate(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    if !is_public(request.path())
        && let Err(error) = enter(&request).await
    {
        return Ok(refuse(request, error));
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

fn is_public(path: &str) -> bool {
    path == "/"
        || PUBLIC.iter().any(|prefix| {
            path.strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
}

async fn enter(request: &ServiceRequest) -> Result<(), ApiError> {
    let Some(credential) = credential(request.headers())? else {
        return Ok(());
    };
    let state = request
        .app_data::<Data<ApiState>>()
        .cloned()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    let entrant = match state.authenticator.recognise(credential) {
        Some(entrant) => entrant,
        None => state
            .authenticator
            .authenticate(credential)
            .await
            .map_err(refused)?,
    };
    if !entrant.allowed_origins.is_empty() {
        let origin = request
            .headers()
            .get(header::ORIGIN)
            .and_then(|it| it.to_str().ok());
        let allowed =
            origin.is_none_or(|origin| entrant.allowed_origins.iter().any(|known| known == origin));
        if !allowed {
            return Err(ApiError::new(ProblemCode::OriginNotAllowed));
        }
    }
    request.extensions_mut().insert(entrant);
    Ok(())
}

/// The one credential of a request.
fn credential(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let mut keys = headers.get_all(X_API_KEY);
    let mut tokens = headers.get_all(header::AUTHORIZATION);
    let found = (keys.next(), tokens.next());
    if keys.next().is_some() || tokens.next().is_some() {
        return Err(ApiError::new(ProblemCode::AmbiguousCredentials));
    }
    match found {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(ApiError::new(ProblemCode::AmbiguousCredentials)),
        (Some(key), None) => key.to_str().map(Some).map_err(|_not_text| invalid()),
        (None, Some(value)) => {
            let text = value.to_str().map_err(|_not_text| invalid())?;
            let (scheme, token) = text.split_once(' ').ok_or_else(invalid)?;
            if scheme.eq_ignore_ascii_case("bearer") {
                Ok(Some(token.trim()))
            } else {
                Err(invalid())
            }
        }
    }
}

fn refused(error: AccessError) -> ApiError {
    let error = ApiError::from(error);
    match error.code {
        ProblemCode::InvalidCredentials | ProblemCode::TokenExpired => bad(error),
        _ => error,
    }
}

fn invalid() -> ApiError {
    bad(ApiError::new(ProblemCode::InvalidCredentials))
}

fn bad(error: ApiError) -> ApiError {
    ApiError {
        challenge: Some(format!("{CHALLENGE}, error=\"invalid_token\"").into()),
        ..error
    }
}
