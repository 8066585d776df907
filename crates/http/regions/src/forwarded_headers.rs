//! The headers that pass from a client to the home region, and back.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};

use kit::layers::X_REQUEST_ID;

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
    X_REGION_FRAMES,
    "x-region-request",
    X_REQUEST_ID,
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
    X_REGION_FRAMES,
    X_REQUEST_ID,
];

/// Returns the headers of a request for the home region.
pub(super) fn for_home(
    headers: &HeaderMap,
    request_id: Option<&str>,
    is_authenticated: bool,
) -> http::HeaderMap {
    let is_dropped = |name: &str| {
        NOT_SENT.contains(&name)
            || name.starts_with("x-forwarded-")
            || is_authenticated && CREDENTIALS.contains(&name)
    };
    let headers = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()));
    let request_id = request_id.map(|id| (X_REQUEST_ID, id.as_bytes()));
    // The positions of a caller's writes are recorded.
    let frames = is_authenticated.then_some((X_REGION_FRAMES, &b"1"[..]));
    let sent = headers.filter(|(name, _)| !is_dropped(name));
    let sent = sent.chain(request_id).chain(frames);
    let mut converted = http::HeaderMap::new();
    for (name, value) in sent {
        let name = http::HeaderName::from_bytes(name.as_bytes());
        let value = http::HeaderValue::from_bytes(value);
        if let (Ok(name), Ok(value)) = (name, value) {
            converted.append(name, value);
        }
    }
    converted
}

/// Returns the headers of the home region's response for the client.
pub(super) fn for_client(
    headers: &http::HeaderMap,
) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let is_returned =
        |name: &str| !NOT_RETURNED.contains(&name) && !name.starts_with("access-control-");
    let returned = headers
        .iter()
        .filter(move |(name, _)| is_returned(name.as_str()));
    returned.filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_str().as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    })
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
        let mut names: Vec<_> = for_home(&headers, Some("a"), is_authenticated)
            .keys()
            .map(ToString::to_string)
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
            (X_REGION_FRAMES, "1"),
            ("x-region-request", "d"),
            (X_REQUEST_ID, "e"),
        ];
        let kept = ["content-type", "idempotency-key", X_REQUEST_ID];
        let own = [X_REGION_FRAMES];
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
        let mut headers = http::HeaderMap::new();
        for name in ["access-control-allow-origin", "ratelimit", "etag", "date"] {
            headers.append(name, http::HeaderValue::from_static("a"));
        }
        let returned: Vec<_> = for_client(&headers).map(|(name, _)| name).collect();
        assert_eq!(returned, ["etag"]);
    }
}
