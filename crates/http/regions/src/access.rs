//! Answers the questions of far regions about access.

use std::sync::Arc;

use access::{AccessAnswer, AccessError, AccessQuestion};
use actix_web::{
    HttpRequest, HttpResponse,
    web::{Bytes, Data},
};
use domain::{CredentialId, ProblemCode, Timestamp};
use kit::{problem::ApiError, state::HttpState};
use serde::de::DeserializeOwned;

use super::endpoints::forwarded_head;

/// Authenticates a credential or a ticket, or checks a caller.
pub(super) async fn answer(
    request: HttpRequest,
    state: Data<HttpState>,
    body: Bytes,
) -> Result<HttpResponse, ApiError> {
    forwarded_head(&request)?;
    let authenticator = &state.authenticator;
    let checked = match parse(&body)? {
        AccessQuestion::Credential { text } => {
            let credential = access::PresentedCredential::new(&text);
            authenticator.authenticate(&credential).await
        }
        AccessQuestion::Ticket { text, origin } => {
            state.tickets.redeem(&text, origin.as_deref()).await
        }
        AccessQuestion::Caller { caller } => {
            let checked = authenticator.check_caller((*caller).into()).await;
            checked.map(Arc::new)
        }
    };
    let answer = match checked {
        Ok(caller) => AccessAnswer::Valid {
            caller: Box::new(caller.to_claims()),
        },
        Err(AccessError::Invalid | AccessError::InvalidTicket) => AccessAnswer::Invalid,
        Err(AccessError::Expired) => AccessAnswer::Expired,
        Err(error) => return Err(error.into()),
    };
    Ok(HttpResponse::Ok().json(answer))
}

/// Records the last uses of credentials in a far region.
pub(super) async fn record_uses(
    request: HttpRequest,
    state: Data<HttpState>,
    body: Bytes,
) -> Result<HttpResponse, ApiError> {
    forwarded_head(&request)?;
    let uses: Vec<(CredentialId, Timestamp)> = parse(&body)?;
    state.authenticator.record_uses(&uses);
    Ok(HttpResponse::Ok().json(true))
}

/// Parses the body of a far node.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body)
        .map_err(|error| ApiError::new(ProblemCode::MalformedJson).with_source(error))
}
