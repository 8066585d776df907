//! The `Idempotency-Key` header, and the headers of responses to requests with a key.

use std::future::{Ready, ready};

use actix_web::{
    FromRequest, HttpRequest, HttpResponse, HttpResponseBuilder,
    dev::Payload,
    http::header::{self, HeaderName, HeaderValue},
};
use domain::IdempotencyKey;

use crate::problem::ApiError;

/// The header with an idempotency key.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Marks a response that repeats the one to an earlier request with the same key.
pub const REPLAYED: (HeaderName, &str) = (HeaderName::from_static("idempotency-replayed"), "true");

/// The request's idempotency key, if it has one.
#[derive(Debug)]
pub struct IdempotencyHeader(pub Option<IdempotencyKey>);

impl FromRequest for IdempotencyHeader {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let mut values = request.headers().get_all(IDEMPOTENCY_KEY);
        let key = match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(ApiError::header(
                IDEMPOTENCY_KEY,
                "must be sent at most once",
            )),
            (Some(value), None) => {
                let parsed = value.to_str().ok().and_then(|text| text.parse().ok());
                let detail = "must be 1 to 255 visible ASCII characters, bare or in double quotes";
                parsed
                    .map(Some)
                    .ok_or_else(|| ApiError::header(IDEMPOTENCY_KEY, detail))
            }
        };
        ready(key.map(Self))
    }
}

/// Starts a 201 response for the thing at `path`. `is_replayed` is true if an earlier request with
/// the same key created it.
pub fn created_response(path: String, is_replayed: bool) -> HttpResponseBuilder {
    let mut response = HttpResponse::Created();
    response.insert_header((header::LOCATION, path));
    if is_replayed {
        response.insert_header(REPLAYED);
    }
    response
}

/// Marks a response or an error if it repeats that of an earlier request.
pub fn mark_replayed(
    outcome: Result<HttpResponse, ApiError>,
    is_replayed: bool,
) -> Result<HttpResponse, ApiError> {
    match outcome {
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
