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
use domain::{ProblemCode, web_address};

use crate::{
    layers::{AllowedOrigins, refuse},
    problem::ApiError,
};

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

/// The origin of the page that a request comes from, as text; `None` when it comes from no page.
fn page_of(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let origin = named_origin(headers).map_err(|ManyOrigins| not_allowed())?;
    // What is no text is the origin of no page.
    let text = origin.map(|origin| origin.to_str().map_err(|_not_text| not_allowed()));
    text.transpose()
}

/// Refuses to open a socket for a page whose origin the operator did not allow: browsers let any
/// page open a socket anywhere, whatever CORS says. The service's own pages are let in, at
/// `public_url`, and so is who comes from no page. Answers the page.
pub fn check_upgrade<'a>(
    headers: &'a HeaderMap,
    allowed: &AllowedOrigins,
    public_url: &str,
) -> Result<Option<&'a str>, ApiError> {
    let Some(page) = page_of(headers)? else {
        return Ok(None);
    };
    if allowed.contains(page) || web_address::origin_of(public_url).as_deref() == Some(page) {
        return Ok(Some(page));
    }
    tracing::debug!(
        origin = page,
        "socket refused: the origin is not in SERVER__ALLOWED_ORIGINS"
    );
    let detail = "only pages of the service itself, and of the origins in SERVER__ALLOWED_ORIGINS, \
                  may open a socket";
    Err(not_allowed().with_detail(detail))
}

/// Refuses an entrant on a page that may not use its credential. Requests with a credential or a
/// ticket have passed [`confine_to_origins`]; this is for who shows one on an open socket.
pub fn check_page(entrant: &Entrant, page: Option<&str>) -> Result<(), ApiError> {
    let known = &entrant.allowed_origins;
    if known.is_empty() || page.is_none_or(|page| known.iter().any(|it| it == page)) {
        return Ok(());
    }
    tracing::debug!(
        origin = page,
        "cross-origin request refused: the origin is not among the key's `allowedOrigins`"
    );
    Err(not_allowed())
}

const fn not_allowed() -> ApiError {
    ApiError::new(ProblemCode::OriginNotAllowed)
}

/// Refuses a page of an origin that may not use the entrant's credential. It comes behind
/// [`super::limit`]: requests that are refused here count too.
pub async fn confine_to_origins(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let entrant = request.extensions().get::<Arc<Entrant>>().cloned();
    let checked = entrant.map_or(Ok(()), |entrant| check_request(&entrant, request.headers()));
    match checked {
        Ok(()) => Ok(next.call(request).await?.map_into_boxed_body()),
        Err(error) => Ok(refuse(request, error)),
    }
}

fn check_request(entrant: &Entrant, headers: &HeaderMap) -> Result<(), ApiError> {
    if entrant.allowed_origins.is_empty() {
        return Ok(());
    }
    check_page(entrant, page_of(headers)?)
}

#[cfg(test)]
mod tests {
    use domain::{LimitOverrides, Principal, PrincipalId, Scopes, Standing};

    use super::*;

    fn headers(origins: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for origin in origins {
            headers.append(header::ORIGIN, HeaderValue::from_bytes(origin).unwrap());
        }
        headers
    }

    fn entrant(origins: &[&str]) -> Entrant {
        Entrant {
            principal: Principal {
                tenant: "default".parse().unwrap(),
                id: PrincipalId::new("ada"),
                scopes: Scopes::all(),
                user_id: None,
            },
            credential: None,
            standing: Standing::ForeignToken,
            allowed_origins: origins.iter().map(ToString::to_string).collect(),
            limits: LimitOverrides::default(),
            ends_at: None,
        }
    }

    fn is_let_in(origins: &[&[u8]]) -> bool {
        let entrant = entrant(&["https://shop.example", "https://app.example"]);
        let checked = check_request(&entrant, &headers(origins));
        is_ok(checked)
    }

    /// Whether a socket is opened for a request with these origins, where pages of one origin are
    /// allowed beside the service's own.
    fn is_upgraded(origins: &[&[u8]]) -> bool {
        let allowed = AllowedOrigins::new(&["https://shop.example".to_owned()]);
        let headers = headers(origins);
        let checked = check_upgrade(&headers, &allowed, "https://agents.example/behind/a/path");
        if let Ok(page) = &checked {
            assert_eq!(page.map(str::as_bytes), origins.first().copied());
        }
        is_ok(checked)
    }

    /// Whether a check lets in. There is one reason not to.
    fn is_ok<T>(checked: Result<T, ApiError>) -> bool {
        match checked {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.code, ProblemCode::OriginNotAllowed);
                false
            }
        }
    }

    /// What no browser sends for a page of `https://shop.example`.
    const FOREIGN: &[&[&[u8]]] = &[
        &[b"https://evil.example"],
        &[b"https://shop.example "],
        &[b"https://shop.example.evil.example"],
        &[b"https://shop.example:443"],
        &[b"http://shop.example"],
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
    ];

    #[test]
    fn one_known_origin_or_none_is_let_in() {
        assert!(is_let_in(&[]));
        assert!(is_let_in(&[b"https://shop.example"]));
        assert!(is_let_in(&[b"https://app.example"]));
    }

    #[test]
    fn anything_else_is_refused() {
        for origins in FOREIGN {
            assert!(!is_let_in(origins), "{origins:?}");
        }
    }

    #[test]
    fn sockets_are_opened_for_allowed_pages_and_for_our_own() {
        assert!(is_upgraded(&[]));
        assert!(is_upgraded(&[b"https://shop.example"]));
        assert!(is_upgraded(&[b"https://agents.example"]));
    }

    #[test]
    fn sockets_are_opened_for_no_other_pages() {
        for origins in FOREIGN {
            assert!(!is_upgraded(origins), "{origins:?}");
        }
        for own in [
            b"http://agents.example".as_slice(),
            b"https://agents.example/behind/a/path",
            b"https://agents.example:8443",
        ] {
            assert!(!is_upgraded(&[own]), "{own:?}");
        }
    }

    #[test]
    fn a_credential_of_any_page_is_used_on_any() {
        let page = Some("https://evil.example");
        assert!(check_page(&entrant(&[]), page).is_ok());
        assert!(check_page(&entrant(&["https://shop.example"]), page).is_err());
        assert!(check_page(&entrant(&["https://shop.example"]), None).is_ok());
    }
}
