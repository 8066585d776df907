//! The `Idempotency-Key` header.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev::Payload, http::header::HeaderName};
use domain::IdempotencyKey;

use crate::problem::ApiError;

const NAME: &str = "Idempotency-Key";

/// Says of an answer that it was given before, to the first request with this key.
pub const REPLAYED: (HeaderName, &str) = (HeaderName::from_static("idempotency-replayed"), "true");

/// The request's idempotency key, if it has one.
#[derive(Debug)]
pub struct IdempotencyHeader(pub Option<IdempotencyKey>);

impl FromRequest for IdempotencyHeader {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let mut values = request.headers().get_all(NAME);
        let key = match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(ApiError::header(NAME, "sent more than once")),
            (Some(value), None) => {
                let parsed = value.to_str().ok().and_then(|text| text.parse().ok());
                let detail = "1 to 255 visible ASCII characters, bare or in double quotes";
                parsed
                    .map(Some)
                    .ok_or_else(|| ApiError::header(NAME, detail))
            }
        };
        ready(key.map(Self))
    }
}
