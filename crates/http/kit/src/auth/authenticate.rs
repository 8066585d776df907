//! Authenticates requests: from the headers to the principal.

use std::sync::Arc;

use access::{AccessError, AuthContext, PresentedCredential};
use actix_web::{
    Error, HttpMessage,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderMap, HeaderName},
    middleware::Next,
    web::{Data, Query},
};
use domain::{CredentialKind, ProblemCode};

use super::{
    authorized::CHALLENGE, file_reader::has_link, forwarded_caller::authenticate_forwarded,
    socket_handshake::check_socket_request,
};
use crate::{layers::reject, problem::ApiError, request::routed_path, state::HttpState};

const X_API_KEY: &str = "x-api-key";

/// The header in which API keys and OAuth clients name the user.
pub const X_USER_ID: HeaderName = HeaderName::from_static("x-user-id");

/// The credential that a request contains.
enum RequestCredential<'a> {
    None,
    Header(PresentedCredential<'a>),
    Ticket(String),
}

/// Rejects requests with an invalid credential, but not those without one: only the route decides
/// whether one is needed.
pub async fn authenticate(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    match authenticate_request(&request).await {
        Ok(()) => {
            note_named_user(&request);
            Ok(next.call(request).await?.map_into_boxed_body())
        }
        Err(error) => Ok(reject(request, error)),
    }
}

/// Makes the response to a request that names a user show what that user sees.
fn note_named_user(request: &ServiceRequest) {
    if !request.headers().contains_key(X_USER_ID) {
        return;
    }
    let mut extensions = request.extensions_mut();
    let known = extensions.get::<Arc<AuthContext>>();
    let naming = known.map(AuthContext::naming_user);
    if let Some(naming) = naming {
        extensions.insert(naming);
    }
}

async fn authenticate_request(request: &ServiceRequest) -> Result<(), ApiError> {
    let state = request
        .app_data::<Data<HttpState>>()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    let forwarded = authenticate_forwarded(request, state).await?;
    if forwarded.as_ref().is_some_and(|it| it.caller.is_some()) {
        return Ok(());
    }
    let credential = read_credential(request, state);
    if let Ok(RequestCredential::Header(known)) = &credential
        && let Some(auth_context) = state.authenticator.authenticate_cached(known)
    {
        request.extensions_mut().insert(auth_context);
        return Ok(());
    }
    // Requests with a known credential are not affected by a flood from the same address.
    #[cfg(feature = "address-guard")]
    if forwarded.is_none()
        && !matches!(&credential, Ok(RequestCredential::Header(known)) if state.authenticator.was_recently_valid(known))
    {
        state.rates.address_guard.admit(request)?;
    }
    let auth_context = match credential? {
        RequestCredential::None => return Ok(()),
        RequestCredential::Header(credential) => {
            state.authenticator.authenticate(&credential).await
        }
        RequestCredential::Ticket(ticket) => {
            let page = check_socket_request(request.request(), state)?;
            state.tickets.redeem(&ticket, page).await
        }
    };
    request
        .extensions_mut()
        .insert(auth_context.map_err(with_challenge)?);
    Ok(())
}

/// Returns the only credential or ticket of a request.
fn read_credential<'a>(
    request: &'a ServiceRequest,
    state: &HttpState,
) -> Result<RequestCredential<'a>, ApiError> {
    let path = routed_path(request.request());
    let operation = state.operations.of_request(request.method().as_str(), path);
    let takes_link = operation.is_some_and(|operation| operation.takes_link);
    if state.operations.is_public(path) || takes_link && has_link(request.request()) {
        return Ok(RequestCredential::None);
    }
    let credential = credential_header(request.headers())?;
    let ticket = match request.query_string() {
        "" => None,
        query if state.operations.opens_socket(path) => ticket_parameter(query)?,
        _ => None,
    };
    match (credential, ticket) {
        (None, None) => Ok(RequestCredential::None),
        (Some(text), None) => Ok(RequestCredential::Header(PresentedCredential::new(text))),
        (None, Some(ticket)) => Ok(RequestCredential::Ticket(ticket)),
        (Some(_), Some(_)) => Err(ApiError::new(ProblemCode::AmbiguousCredentials)),
    }
}

/// Returns the only ticket in a query.
fn ticket_parameter(query: &str) -> Result<Option<String>, ApiError> {
    let pairs = Query::<Vec<(String, String)>>::from_query(query);
    let pairs = pairs.map(Query::into_inner).unwrap_or_default();
    let mut tickets = pairs.into_iter().filter(|(name, _)| name == "ticket");
    match (tickets.next(), tickets.next()) {
        (_, Some(_)) => Err(ApiError::new(ProblemCode::AmbiguousCredentials)),
        (ticket, None) => Ok(ticket.map(|(_, ticket)| ticket)),
    }
}

/// Returns the only credential in the headers.
fn credential_header(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let mut keys = headers.get_all(X_API_KEY);
    let mut tokens = headers.get_all(header::AUTHORIZATION);
    let found = (keys.next(), tokens.next());
    if keys.next().is_some() || tokens.next().is_some() {
        return Err(ApiError::new(ProblemCode::AmbiguousCredentials));
    }
    match found {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(ApiError::new(ProblemCode::AmbiguousCredentials)),
        (Some(key), None) => {
            let text = key.to_str().map_err(|_not_text| invalid_credentials())?;
            // Tokens must be sent in the other header.
            if text.starts_with(CredentialKind::Key.prefix()) {
                Ok(Some(text))
            } else {
                Err(invalid_credentials())
            }
        }
        (None, Some(value)) => {
            let text = value.to_str().map_err(|_not_text| invalid_credentials())?;
            let (scheme, token) = text.split_once(' ').ok_or_else(invalid_credentials)?;
            if scheme.eq_ignore_ascii_case("bearer") {
                Ok(Some(token.trim()))
            } else {
                Err(invalid_credentials())
            }
        }
    }
}

/// Returns the error with its challenge, if it rejects a credential.
pub(crate) fn with_challenge(error: AccessError) -> ApiError {
    let error = ApiError::from(error);
    match error.code {
        ProblemCode::InvalidCredentials
        | ProblemCode::TokenExpired
        | ProblemCode::InvalidTicket => with_invalid_token_challenge(error),
        _ => error,
    }
}

fn invalid_credentials() -> ApiError {
    with_invalid_token_challenge(ApiError::new(ProblemCode::InvalidCredentials))
}

fn with_invalid_token_challenge(error: ApiError) -> ApiError {
    ApiError {
        challenge: Some(format!("{CHALLENGE}, error=\"invalid_token\"").into()),
        ..error
    }
}
