//! Conditional requests (RFC 9110, section 13).

use std::future::{Ready, ready};

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::header::{HeaderMap, IF_MATCH, IF_NONE_MATCH},
};
use application::VersionCondition;

use crate::problem::ApiError;

/// The versions that `If-Match` accepts: any if the header is absent or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfMatch(pub VersionCondition);

impl FromRequest for IfMatch {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        // Several lines are one list (RFC 9110, section 5.3).
        let lines = request.headers().get_all(IF_MATCH);
        let texts: Option<Vec<&str>> = lines.map(|line| line.to_str().ok()).collect();
        let condition = texts.and_then(|texts| match texts[..] {
            [] => Some(VersionCondition::Any),
            _ => parse(&texts.join(",")),
        });
        let malformed = || {
            ApiError::header(
                "If-Match",
                "must be entity tags in double quotes, separated by commas, or *",
            )
        };
        ready(condition.map(Self).ok_or_else(malformed))
    }
}

/// Parses `*` or a list of entity tags; empty elements of the list are ignored (RFC 9110, section
/// 5.6.1). Returns `None` if the text is neither.
fn parse(text: &str) -> Option<VersionCondition> {
    let mut rest = text.trim_matches(LIST_SPACE);
    if rest == "*" {
        return Some(VersionCondition::Any);
    }
    if rest.is_empty() {
        return None;
    }
    let mut versions = Vec::new();
    while !rest.is_empty() {
        let (is_weak, tag) = match rest.strip_prefix("W/") {
            Some(tag) => (true, tag),
            None => (false, rest),
        };
        let (tag, after) = tag.strip_prefix('"')?.split_once('"')?;
        // The strong comparison never matches a weak tag, and unknown tags match no version.
        versions.extend(version_of(tag).filter(|_| !is_weak));
        let next = after.trim_start_matches([' ', '\t']);
        if !next.is_empty() && !next.starts_with(',') {
            return None;
        }
        rest = next.trim_matches(LIST_SPACE);
    }
    Some(VersionCondition::OneOf(versions))
}

/// The characters around the elements of a list, including empty elements.
const LIST_SPACE: [char; 3] = [' ', '\t', ','];

/// Returns the version in the tag `v3` of an agent or `v3.8c7e…` of a conversation.
fn version_of(tag: &str) -> Option<i64> {
    let rest = tag.strip_prefix('v')?;
    let digits = rest.split_once('.').map_or(rest, |(version, _)| version);
    let version: i64 = digits.parse().ok()?;
    // Only the form that this service writes: no sign, no leading zero.
    (version.to_string() == digits).then_some(version)
}

/// Returns true if `If-None-Match` contains this entity tag, so that the client has the current
/// version.
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

    fn one_of(versions: &[i64]) -> VersionCondition {
        VersionCondition::OneOf(versions.to_vec())
    }

    #[test]
    fn only_the_version_is_compared() {
        assert_eq!(parse("\"v3\""), Some(one_of(&[3])));
        assert_eq!(parse("\"v3.8c7e\""), Some(one_of(&[3])));
        assert_eq!(parse("*"), Some(VersionCondition::Any));
        for other in ["\"other\"", "\"v+3\"", "\"v03\"", "W/\"v3\"", "\"\""] {
            assert_eq!(parse(other), Some(one_of(&[])), "{other}");
        }
    }

    #[test]
    fn lists_are_accepted() {
        assert_eq!(parse("\"v3\", \"v4\""), Some(one_of(&[3, 4])));
        assert_eq!(
            parse(" , \"v3.1\",,W/\"v4\" ,\"a,b\",\t\"v5\","),
            Some(one_of(&[3, 5]))
        );
    }

    #[test]
    fn text_other_than_a_list_of_entity_tags_is_rejected() {
        for malformed in [
            "",
            " , ",
            "v3",
            "\"v3",
            "v3\"",
            "\"v3\" \"v4\"",
            "\"v3\", *",
            "*, *",
            "w/\"v3\"",
        ] {
            assert_eq!(parse(malformed), None, "{malformed}");
        }
    }
}
