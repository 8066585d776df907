//! A request to one of the endpoints: a form, and what it shows of the client.

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::header::{self, HeaderMap},
    web::Bytes,
};
use application::access::server::{OAuthError, Presented};
use futures::{FutureExt, future::LocalBoxFuture};

use super::{
    OAuthRefusal,
    basic::{self, Basic},
    form::Form,
};

const FORM: &str = "application/x-www-form-urlencoded";

/// A request to one of the endpoints.
#[derive(Debug)]
pub struct OAuthRequest {
    /// What it shows of the client.
    pub shown: Presented,
    form: Form,
}

impl OAuthRequest {
    /// Takes a parameter out of the form.
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
            Basic::Shown(id, secret) => Some((id, secret)),
            Basic::Malformed => return Err(OAuthError::InvalidClient),
            Basic::Repeated => {
                let detail = "Authorization is sent more than once";
                return Err(OAuthError::InvalidRequest(detail));
            }
        };
        let shown = Presented {
            basic,
            client_id: form.take("client_id"),
            client_secret: form.take("client_secret"),
            assertion_type: form.take("client_assertion_type"),
            assertion: form.take("client_assertion"),
        };
        Ok(Self { shown, form })
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE);
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let named = value.to_str().unwrap_or_default();
    let essence = named.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(FORM)
}

impl FromRequest for OAuthRequest {
    type Error = OAuthRefusal;
    type Future = LocalBoxFuture<'static, Result<Self, OAuthRefusal>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let headers = request.headers().clone();
        // The layer in front has taken the whole body in: these bytes are there already.
        let body = Bytes::from_request(request, payload);
        async move {
            let body = body.await;
            let body = body.map_err(|_broken| OAuthError::InvalidRequest("the body broke off"))?;
            Ok(Self::read(&headers, &body)?)
        }
        .boxed_local()
    }
}
