//! The page that a request comes from, and whether it may use the credential that it sends.

use std::sync::Arc;

use actix_web::{
    Error, HttpMessage as _,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderMap, HeaderValue},
    middleware::Next,
};
use application::access::Entrant;
use domain::ProblemCode;

use crate::{layers::refuse, problem::ApiError};

/// A request that names more than one origin: no browser sends that, and which of them is meant
/// nobody knows.
pub struct ManyOrigins;

/// The origin that a request names; `None` when it comes from no page.
pub fn named_origin(headers: &HeaderMap) -> Result<Option<&HeaderValue>, ManyOrigins> {
    let mut lines = headers.get_all(header::ORIGIN);
    let origin = lines.next();
    if lines.next().is_some() {
        return Err(ManyOrigins);
    }
    Ok(origin)
}

/// Refuses a page of an origin that may not use the entrant's credential. It comes behind
/// [`super::limit`]: requests that are refused here count too.
pub async fn confine_to_origins(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let entrant = request.extensions().get::<Arc<Entrant>>().cloned();
    let known = entrant.as_ref().map_or(&[][..], |it| &it.allowed_origins);
    if known.is_empty() || is_among(known, request.headers()) {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let error = ApiError::new(ProblemCode::OriginNotAllowed);
    Ok(refuse(request, error))
}

/// Whether a request comes from a page of exactly one known origin, or from none.
fn is_among(known: &[String], headers: &HeaderMap) -> bool {
    named_origin(headers).is_ok_and(|origin| {
        // Byte for byte: what is no text is no known origin either.
        origin.is_none_or(|origin| known.iter().any(|it| it.as_bytes() == origin.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_let_in(origins: &[&[u8]]) -> bool {
        let known = ["https://shop.example", "https://app.example"].map(ToOwned::to_owned);
        let mut headers = HeaderMap::new();
        for origin in origins {
            headers.append(header::ORIGIN, HeaderValue::from_bytes(origin).unwrap());
        }
        is_among(&known, &headers)
    }

    #[test]
    fn one_known_origin_or_none_is_let_in() {
        assert!(is_let_in(&[]));
        assert!(is_let_in(&[b"https://shop.example"]));
        assert!(is_let_in(&[b"https://app.example"]));
    }

    #[test]
    fn anything_else_is_refused() {
        for origins in [
            [b"https://evil.example".as_slice()].as_slice(),
            &[b"https://shop.example "],
            &[b"https://Shop.example"],
            &[b""],
            &[b"null"],
            // Not text as HTTP has it, and not UTF-8.
            &["https://shöp.example".as_bytes()],
            &[b"https://shop.example\xff"],
            &[b"https://shop.example", b"https://shop.example"],
            &[b"https://shop.example", b"https://evil.example"],
            &[b"https://evil.example", b"https://shop.example"],
            &[b"https://shop.example https://shop.example"],
        ] {
            assert!(!is_let_in(origins), "{origins:?}");
        }
    }
}
