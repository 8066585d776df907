//! The `Idempotency-Key` header, and what an answer says of it.

use std::future::{Ready, ready};

use actix_web::{
    FromRequest, HttpRequest, HttpResponse, HttpResponseBuilder,
    dev::Payload,
    http::header::{self, HeaderName, HeaderValue},
};
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

/// Begins the answer about what was made, which is at `path`, by this request or an earlier one
/// with the same key.
pub fn made(path: String, is_replayed: bool) -> HttpResponseBuilder {
    let mut response = HttpResponse::Created();
    response.insert_header((header::LOCATION, path));
    if is_replayed {
        response.insert_header(REPLAYED);
    }
    response
}

/// An answer or a refusal, which says so if it is the first one again.
pub fn told_again(
    answer: Result<HttpResponse, ApiError>,
    is_replayed: bool,
) -> Result<HttpResponse, ApiError> {
    match answer {
        Ok(mut response) if is_replayed => {
            let (name, value) = REPLAYED;
            let headers = response.headers_mut();
            headers.insert(name, HeaderValue::from_static(value));
            Ok(response)
        }
        Ok(response) => Ok(response),
        Err(error) => Err(ApiError {
            is_replayed,
            ..error
        }),
    }
}
