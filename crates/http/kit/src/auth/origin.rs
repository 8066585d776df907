//! Checks which page a request comes from, and whether that page may use the credential.

use std::sync::Arc;

use access::AuthContext;
use actix_web::{
    Error, HttpMessage as _,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderMap, HeaderValue},
    middleware::Next,
};
use domain::{ProblemCode, allowed_origin, web_address};

use super::forwarded_caller::is_counted_elsewhere;
use crate::{
    layers::{AllowedOrigins, reject},
    problem::ApiError,
};

/// A request with more than one origin. Browsers do not send such requests, and it is unknown which
/// origin is meant.
pub(crate) struct MultipleOrigins;

/// Returns the origin of a request; `None` if it does not come from a page.
pub(crate) fn named_origin(headers: &HeaderMap) -> Result<Option<&HeaderValue>, MultipleOrigins> {
    let mut lines = headers.get_all(header::ORIGIN);
    let origin = lines.next();
    if lines.next().is_some() {
        return Err(MultipleOrigins);
    }
    Ok(origin)
}

/// Returns the origin of a request as text; `None` if it does not come from a page.
fn page_origin(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let refused = |detail| origin_not_allowed().with_detail(detail);
    let origin = named_origin(headers);
    let origin = origin.map_err(|MultipleOrigins| refused("The request has several `Origin`s."))?;
    let text = origin.map(|origin| {
        let text = origin.to_str();
        text.map_err(|_not_text| refused("The header `Origin` is the origin of no page."))
    });
    text.transpose()
}

/// Rejects a socket for a page of an origin that the operator did not allow: browsers let any page
/// open sockets, regardless of CORS. The service's own pages at `public_url` are allowed, and so
/// are clients that are not pages. Returns the origin of the page.
pub fn check_socket_origin<'a>(
    headers: &'a HeaderMap,
    allowed: &AllowedOrigins,
    public_url: &str,
) -> Result<Option<&'a str>, ApiError> {
    let Some(page) = page_origin(headers)? else {
        return Ok(None);
    };
    if allowed.contains(page) || web_address::origin_of(public_url).as_deref() == Some(page) {
        return Ok(Some(page));
    }
    tracing::debug!(
        origin = page,
        "socket rejected: SERVER__ALLOWED_ORIGINS does not allow the origin"
    );
    let detail = "Only pages of the service itself, and of the origins in SERVER__ALLOWED_ORIGINS, \
                  may open a socket.";
    Err(origin_not_allowed().with_detail(detail))
}

/// Rejects a credential that the page may not use. For credentials that are sent on an open socket;
/// other requests have passed [`restrict_origins`].
pub fn check_credential_origin(
    auth_context: &AuthContext,
    page: Option<&str>,
) -> Result<(), ApiError> {
    let known = &auth_context.allowed_origins;
    let allows = |page| known.iter().any(|it| allowed_origin::allows(it, page));
    if known.is_empty() || page.is_none_or(allows) {
        return Ok(());
    }
    tracing::debug!(
        origin = page,
        "cross-origin request rejected: the `allowedOrigins` of the credential do not allow the origin"
    );
    let detail = "The `allowedOrigins` of the credential do not allow the origin of this page.";
    Err(origin_not_allowed().with_detail(detail))
}

const fn origin_not_allowed() -> ApiError {
    ApiError::new(ProblemCode::OriginNotAllowed)
}

/// Rejects a request from a page that may not use the credential. This layer is inside of
/// [`super::rate_limit`], so that rejected requests are counted too.
pub async fn restrict_origins(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let auth_context = request.extensions().get::<Arc<AuthContext>>().cloned();
    let checked = match auth_context {
        Some(auth_context) if !is_counted_elsewhere(&request) => {
            check_request(&auth_context, request.headers())
        }
        _ => Ok(()),
    };
    match checked {
        Ok(()) => Ok(next.call(request).await?.map_into_boxed_body()),
        Err(error) => Ok(reject(request, error)),
    }
}

fn check_request(auth_context: &AuthContext, headers: &HeaderMap) -> Result<(), ApiError> {
    if auth_context.allowed_origins.is_empty() {
        return Ok(());
    }
    check_credential_origin(auth_context, page_origin(headers)?)
}

#[cfg(test)]
mod tests {
    use domain::{CredentialSource, LimitOverrides, Principal, PrincipalId, Scopes};

    use super::*;

    fn headers(origins: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for origin in origins {
            headers.append(header::ORIGIN, HeaderValue::from_bytes(origin).unwrap());
        }
        headers
    }

    fn auth_context(origins: &[&str]) -> AuthContext {
        AuthContext {
            principal: Principal {
                tenant: "default".parse().unwrap(),
                id: PrincipalId::new("ada"),
                scopes: Scopes::all(),
                user_id: None,
                agents: domain::AgentReach::ALL,
                names_user: false,
            },
            credential: None,
            source: Arc::new(CredentialSource::ExternalToken),
            allowed_origins: origins.iter().map(ToString::to_string).collect(),
            limits: LimitOverrides::default(),
            ends_at: None,
        }
    }

    fn is_allowed(origins: &[&[u8]]) -> bool {
        let auth_context = auth_context(&["https://shop.example", "https://app.example"]);
        let checked = check_request(&auth_context, &headers(origins));
        is_ok(checked)
    }

    /// Returns true if a socket is opened for a request with these origins, where pages of one
    /// other origin are allowed.
    fn is_upgraded(origins: &[&[u8]]) -> bool {
        let allowed = AllowedOrigins::new(&["https://shop.example".to_owned()], &[]);
        let headers = headers(origins);
        let checked =
            check_socket_origin(&headers, &allowed, "https://agents.example/behind/a/path");
        if let Ok(page) = &checked {
            assert_eq!(page.map(str::as_bytes), origins.first().copied());
        }
        is_ok(checked)
    }

    /// Returns true if a check succeeds. There is only one reason to fail.
    fn is_ok<T>(checked: Result<T, ApiError>) -> bool {
        match checked {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.code, ProblemCode::OriginNotAllowed);
                false
            }
        }
    }

    /// Values that no browser sends for a page of `https://shop.example`.
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
    fn an_allowed_origin_or_none_is_accepted() {
        assert!(is_allowed(&[]));
        assert!(is_allowed(&[b"https://shop.example"]));
        assert!(is_allowed(&[b"https://app.example"]));
    }

    #[test]
    fn any_other_origin_is_rejected() {
        for origins in FOREIGN {
            assert!(!is_allowed(origins), "{origins:?}");
        }
    }

    #[test]
    fn pages_of_allowed_origins_and_of_the_service_may_open_sockets() {
        assert!(is_upgraded(&[]));
        assert!(is_upgraded(&[b"https://shop.example"]));
        assert!(is_upgraded(&[b"https://agents.example"]));
    }

    #[test]
    fn other_pages_may_not_open_sockets() {
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
    fn a_credential_without_allowed_origins_is_accepted_from_any_page() {
        let page = Some("https://evil.example");
        assert!(check_credential_origin(&auth_context(&[]), page).is_ok());
        assert!(check_credential_origin(&auth_context(&["https://shop.example"]), page).is_err());
        assert!(check_credential_origin(&auth_context(&["https://shop.example"]), None).is_ok());
    }
}
