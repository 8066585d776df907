//! From a request's headers to its principal.

use actix_web::{
    Error, HttpMessage,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderMap},
    middleware::Next,
    web::{Data, Query},
};
use application::access::{AccessError, PresentedCredential};
use domain::{CredentialKind, ProblemCode};

use super::{authorized::CHALLENGE, handshake::check_opening, scope_table::is_public};
use crate::{layers::refuse, problem::ApiError, request::routed_path, state::ApiState};

const X_API_KEY: &str = "x-api-key";
/// The one path on which a ticket lets in.
const SOCKET_PATH: &str = "/api/ws";

/// What a request brings to be let in by.
enum Sent<'a> {
    Nothing,
    Credential(PresentedCredential<'a>),
    Ticket(String),
}

/// Refuses a bad credential, never a missing one: whether one is needed is known after routing.
pub async fn authenticate(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    match enter(&request).await {
        Ok(()) => Ok(next.call(request).await?.map_into_boxed_body()),
        Err(error) => Ok(refuse(request, error)),
    }
}

async fn enter(request: &ServiceRequest) -> Result<(), ApiError> {
    let state = request
        .app_data::<Data<ApiState>>()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    let sent = sent(request);
    if let Ok(Sent::Credential(credential)) = &sent
        && let Some(entrant) = state.authenticator.recognise(credential)
    {
        request.extensions_mut().insert(entrant);
        return Ok(());
    }
    // A flood from the same address does not touch whoever is known.
    #[cfg(feature = "address-guard")]
    if !matches!(&sent, Ok(Sent::Credential(known)) if state.authenticator.knows(known)) {
        state.address_guard.admit(request)?;
    }
    let entrant = match sent? {
        Sent::Nothing => return Ok(()),
        Sent::Credential(credential) => state.authenticator.authenticate(&credential).await,
        Sent::Ticket(ticket) => {
            let page = check_opening(request.request(), state)?;
            state.tickets.redeem(&ticket, page).await
        }
    };
    request.extensions_mut().insert(entrant.map_err(refused)?);
    Ok(())
}

/// The one credential of a request, or its ticket.
fn sent(request: &ServiceRequest) -> Result<Sent<'_>, ApiError> {
    let path = routed_path(request.request());
    if is_public(path) {
        return Ok(Sent::Nothing);
    }
    let credential = credential(request.headers())?;
    let ticket = match path {
        SOCKET_PATH => ticket(request.query_string())?,
        _ => None,
    };
    match (credential, ticket) {
        (None, None) => Ok(Sent::Nothing),
        (Some(text), None) => Ok(Sent::Credential(PresentedCredential::new(text))),
        (None, Some(ticket)) => Ok(Sent::Ticket(ticket)),
        (Some(_), Some(_)) => Err(ApiError::new(ProblemCode::AmbiguousCredentials)),
    }
}

/// The one ticket of a query.
fn ticket(query: &str) -> Result<Option<String>, ApiError> {
    let pairs = Query::<Vec<(String, String)>>::from_query(query);
    let pairs = pairs.map(Query::into_inner).unwrap_or_default();
    let mut tickets = pairs.into_iter().filter(|(name, _)| name == "ticket");
    match (tickets.next(), tickets.next()) {
        (_, Some(_)) => Err(ApiError::new(ProblemCode::AmbiguousCredentials)),
        (ticket, None) => Ok(ticket.map(|(_, ticket)| ticket)),
    }
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
        (Some(key), None) => {
            let text = key.to_str().map_err(|_not_text| invalid())?;
            // A token belongs into the other header alone.
            if text.starts_with(CredentialKind::Key.prefix()) {
                Ok(Some(text))
            } else {
                Err(invalid())
            }
        }
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
        ProblemCode::InvalidCredentials
        | ProblemCode::TokenExpired
        | ProblemCode::InvalidTicket => bad(error),
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
