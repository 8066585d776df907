//! The headers that pass from a client to the home region, and back.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;

use super::positioned_body::X_REGION_FRAMES;

/// The headers of a request that are not forwarded: they belong to the connection, are the
/// credential that the signed head replaces, describe the way to this node, or are a signed head,
/// which only this node may send.
const NOT_SENT: &[&str] = &[
    "accept-encoding",
    "access-control-request-headers",
    "access-control-request-method",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "origin",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-region-frames",
    "x-region-request",
    "x-request-id",
];
/// The credentials of a caller that this node has authenticated.
const CREDENTIALS: &[&str] = &["authorization", "x-api-key"];
/// The headers of a response that this node writes itself.
const NOT_RETURNED: &[&str] = &[
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "ratelimit",
    "ratelimit-policy",
    "server",
    "strict-transport-security",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "x-region-frames",
    "x-request-id",
];

/// Returns the headers of a request for the home region.
pub(super) fn for_home(
    headers: &HeaderMap,
    request_id: Option<String>,
    is_authenticated: bool,
) -> Vec<(String, Bytes)> {
    let is_dropped = |name: &str| {
        NOT_SENT.contains(&name)
            || name.starts_with("x-forwarded-")
            || is_authenticated && CREDENTIALS.contains(&name)
    };
    let sent = headers
        .iter()
        .filter(|(name, _)| !is_dropped(name.as_str()));
    let sent = sent.map(|(name, value)| {
        let value = Bytes::copy_from_slice(value.as_bytes());
        (name.as_str().to_owned(), value)
    });
    let request_id = request_id.map(|id| ("x-request-id".to_owned(), id.into()));
    // The positions of a caller's writes are recorded.
    let frames = (X_REGION_FRAMES.as_str().to_owned(), "1".into());
    let frames = is_authenticated.then_some(frames);
    sent.chain(request_id).chain(frames).collect()
}

/// Returns a header of the home region's response for the client.
pub(super) fn for_client(name: &str, value: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    if NOT_RETURNED.contains(&name) || name.starts_with("access-control-") {
        return None;
    }
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    Some((name, HeaderValue::from_bytes(value).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(lines: &[(&'static str, &'static str)], is_authenticated: bool) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let value = HeaderValue::from_static(value);
            headers.append(HeaderName::from_static(name), value);
        }
        let mut names: Vec<_> = for_home(&headers, Some("a".to_owned()), is_authenticated)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        names.sort();
        names
    }

    #[test]
    fn credentials_and_headers_of_regions_are_not_forwarded() {
        let lines = [
            ("authorization", "Bearer a"),
            ("content-type", "application/json"),
            ("idempotency-key", "b"),
            ("transfer-encoding", "chunked"),
            ("x-api-key", "c"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-region-frames", "1"),
            ("x-region-request", "d"),
            ("x-request-id", "e"),
        ];
        let kept = ["content-type", "idempotency-key", "x-request-id"];
        let own = ["x-region-frames"];
        let with = |more: &[&'static str]| {
            let mut names = [&kept[..], more].concat();
            names.sort_unstable();
            names
        };
        assert_eq!(sent(&lines, true), with(&own));
        let credentials = ["authorization", "x-api-key"];
        assert_eq!(sent(&lines, false), with(&credentials));
    }

    #[test]
    fn headers_of_the_answering_node_are_not_returned() {
        assert!(for_client("etag", b"\"1\"").is_some());
        for name in ["access-control-allow-origin", "ratelimit", "date"] {
            assert_eq!(for_client(name, b"a"), None, "{name}");
        }
    }
}
