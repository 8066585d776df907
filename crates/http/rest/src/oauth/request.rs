//! A request to an OAuth endpoint: a form, and the credentials of the client.

use access::oauth_server::{ClientCredentials, OAuthError};
use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::header::{self, HeaderMap},
    web::Bytes,
};
use futures::{FutureExt, future::LocalBoxFuture};
use kit::problem::oauth::OAuthErrorResponse;

use super::{
    basic::{self, Basic},
    form::Form,
};

const FORM: &str = "application/x-www-form-urlencoded";

/// A request to an OAuth endpoint.
#[derive(Debug)]
pub struct OAuthRequest {
    /// The credentials of the client.
    pub credentials: ClientCredentials,
    form: Form,
}

impl OAuthRequest {
    /// Removes and returns a parameter of the form.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.form.take(name)
    }

    fn read(headers: &HeaderMap, body: &[u8]) -> Result<Self, OAuthError> {
        if !is_form(headers) {
            let detail = "the body must be application/x-www-form-urlencoded";
            return Err(OAuthError::InvalidRequest(detail));
        }
        let mut form = Form::read(body).map_err(OAuthError::InvalidRequest)?;
        let basic = match basic::read(headers) {
            Basic::Absent => None,
            Basic::Present(id, secret) => Some((id, secret)),
            Basic::Malformed => return Err(OAuthError::InvalidClient),
            Basic::Repeated => {
                let detail = "Authorization must be sent at most once";
                return Err(OAuthError::InvalidRequest(detail));
            }
        };
        let credentials = ClientCredentials {
            basic,
            client_id: form.take("client_id"),
            client_secret: form.take("client_secret"),
            assertion_type: form.take("client_assertion_type"),
            assertion: form.take("client_assertion"),
        };
        Ok(Self { credentials, form })
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE);
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let media_type = value.to_str().unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(FORM)
}

impl FromRequest for OAuthRequest {
    type Error = OAuthErrorResponse;
    type Future = LocalBoxFuture<'static, Result<Self, OAuthErrorResponse>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let headers = request.headers().clone();
        // The layer `read_body` has already read the whole body.
        let body = Bytes::from_request(request, payload);
        async move {
            let body = body.await;
            let body = body.map_err(|_broken| {
                OAuthError::InvalidRequest("the connection was closed before the end of the body")
            })?;
            Ok(Self::read(&headers, &body)?)
        }
        .boxed_local()
    }
}
