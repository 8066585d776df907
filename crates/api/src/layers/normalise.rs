//! What every answer has in common, whoever wrote it; its headers stand in [`super::security`].

use actix_web::{
    Error,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method,
        header::{HeaderValue, WWW_AUTHENTICATE},
    },
    middleware::Next,
    web::Data,
};

use super::unread;
use crate::{problem::fill_in, state::ApiState};

/// Makes HEAD what GET is, and every refusal a problem.
pub async fn normalise(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    if request.method() == Method::HEAD {
        // The encoder remembers that it was HEAD and leaves the body out.
        request.head_mut().method = Method::GET;
    }
    let response = next.call(request).await?.map_into_boxed_body();
    let mut response = fill_in(response);
    announce_way_in(&mut response);
    Ok(unread::hold(response))
}

/// Says in every challenge where to read how to get in (RFC 9728).
fn announce_way_in(response: &mut ServiceResponse) {
    let state = response.request().app_data::<Data<ApiState>>();
    let Some(announcement) = state.map(|state| state.oauth_metadata.announcement().to_owned())
    else {
        return;
    };
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    let challenge = challenge.and_then(|value| value.to_str().ok());
    let bearer = challenge.and_then(|challenge| challenge.strip_prefix("Bearer "));
    let told = bearer.map(|rest| HeaderValue::try_from(format!("Bearer {announcement}, {rest}")));
    if let Some(Ok(told)) = told {
        response.headers_mut().insert(WWW_AUTHENTICATE, told);
    }
}
