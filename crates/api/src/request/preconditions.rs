//! Conditional requests (RFC 9110, section 13).

use std::future::{Ready, ready};

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::header::{HeaderMap, IF_MATCH, IF_NONE_MATCH},
};

use crate::problem::ApiError;

/// The version that `If-Match` insists on; none when the header is absent or `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfMatch(pub Option<i64>);

/// A version that nothing has: what a foreign entity tag stands for.
const NEVER: i64 = 0;

impl FromRequest for IfMatch {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let mut values = request.headers().get_all(IF_MATCH);
        let condition = match (values.next(), values.next()) {
            (None, _) => Ok(Self(None)),
            (Some(value), None) => parse(value.to_str().unwrap_or_default()),
            (Some(_), Some(_)) => Err(ApiError::header("If-Match", "sent more than once")),
        };
        ready(condition)
    }
}

fn parse(text: &str) -> Result<IfMatch, ApiError> {
    let text = text.trim();
    if text == "*" {
        return Ok(IfMatch(None));
    }
    let is_tag = |tag: &str| tag.len() >= 2 && tag.starts_with('"') && tag.ends_with('"');
    let bare = text.strip_prefix("W/").unwrap_or(text);
    if !is_tag(bare) || bare[1..bare.len() - 1].contains('"') {
        return Err(ApiError::header(
            "If-Match",
            "one entity tag in double quotes, or *",
        ));
    }
    if text.starts_with("W/") {
        // The strong comparison never matches a weak tag.
        return Ok(IfMatch(Some(NEVER)));
    }
    // `"v3"` of an agent, `"v3.12"` of a conversation: the version alone is compared.
    let version = bare[1..bare.len() - 1].strip_prefix('v').and_then(|rest| {
        let version = rest.split_once('.').map_or(rest, |(version, _)| version);
        // The one spelling that this service writes: no sign, no leading zero.
        version
            .parse()
            .ok()
            .filter(|number: &i64| number.to_string() == version)
    });
    Ok(IfMatch(Some(version.unwrap_or(NEVER))))
}

/// Whether `If-None-Match` names this entity tag: then the client has what it asks for.
pub fn etag_matches(headers: &HeaderMap, etag: &str) -> bool {
    headers
        .get_all(IF_NONE_MATCH)
        .filter_map(|value| value.to_str().ok())
        .any(|value| {
            value
                .split(',')
                .map(str::trim)
                .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_the_version_alone() {
        assert_eq!(parse("\"v3\"").unwrap(), IfMatch(Some(3)));
        assert_eq!(parse("\"v3.12\"").unwrap(), IfMatch(Some(3)));
        assert_eq!(parse("*").unwrap(), IfMatch(None));
        assert_eq!(parse("\"other\"").unwrap(), IfMatch(Some(NEVER)));
        assert_eq!(parse("\"v+3\"").unwrap(), IfMatch(Some(NEVER)));
        assert_eq!(parse("\"v03\"").unwrap(), IfMatch(Some(NEVER)));
        assert_eq!(parse("W/\"v3\"").unwrap(), IfMatch(Some(NEVER)));
        assert!(parse("v3").is_err());
        assert!(parse("\"v3\", \"v4\"").is_err());
    }
}
