//! Errors that an upstream returns.

use std::{fmt, time::Duration};

use reqwest::StatusCode;
use serde_json::Value;

use crate::dialect::RefusedParameters;

/// An error that an upstream returned.
#[derive(Debug, thiserror::Error)]
pub(crate) struct UpstreamError {
    pub(crate) status: StatusCode,
    pub(crate) code: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) refused: RefusedParameters,
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the upstream returned {}", self.status.as_u16())?;
        if let Some(code) = &self.code {
            write!(formatter, ", code {code}")?;
        }
        if let Some(kind) = &self.kind {
            write!(formatter, ", type {kind}")?;
        }
        Ok(())
    }
}

impl UpstreamError {
    /// Reads the `error` of an error response or of an event. A field that contains `key`, the API
    /// key, is omitted.
    pub(crate) fn read(status: Option<StatusCode>, error: &Value, key: Option<&str>) -> Self {
        let field = |value: Option<&Value>| {
            let word = match value? {
                Value::String(word) => word.clone(),
                Value::Number(number) => number.to_string(),
                _ => return None,
            };
            let is_safe = key.is_none_or(|key| !word.contains(key));
            (is_safe && is_error_name(&word)).then_some(word)
        };
        let (code, kind) = (field(error.get("code")), field(error.get("type")));
        let words = [code.as_deref(), kind.as_deref()];
        let status = status.unwrap_or_else(|| inferred_status(words.into_iter().flatten()));
        let refused = match status {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                RefusedParameters::read(&error.to_string())
            }
            _ => RefusedParameters::default(),
        };
        // The API of Anthropic has a code that is more precise than the type.
        let code = code.or_else(|| field(error.pointer("/details/error_code")));
        Self {
            status,
            code,
            kind,
            retry_after: None,
            refused,
        }
    }
}

/// Returns whether a text is an error name, which may be logged, and no sentence.
fn is_error_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Returns the status that the error would have had before the stream began. Unknown errors are
/// server errors.
fn inferred_status<'a>(words: impl Iterator<Item = &'a str>) -> StatusCode {
    const CLIENT_ERRORS: [&str; 13] = [
        "invalid",
        "authentication",
        "permission",
        "not_found",
        "notfound",
        "badrequest",
        "bad_request",
        "unsupported",
        "exceeded",
        "billing",
        "too_large",
        "policy",
        "filter",
    ];
    for word in words {
        let number = word
            .parse()
            .ok()
            .filter(|number| (400..=599).contains(number));
        if let Some(status) = number.and_then(|number| StatusCode::from_u16(number).ok()) {
            return status;
        }
        let word = word.to_ascii_lowercase();
        if ["rate_limit", "ratelimit", "too_many_requests", "quota"]
            .iter()
            .any(|part| word.contains(part))
        {
            return StatusCode::TOO_MANY_REQUESTS;
        }
        if CLIENT_ERRORS.iter().any(|part| word.contains(part)) {
            return StatusCode::BAD_REQUEST;
        }
    }
    StatusCode::INTERNAL_SERVER_ERROR
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"code": 502}), 502)]
    #[case(json!({"code": "429"}), 429)]
    #[case(json!({"code": "rate_limit_exceeded"}), 429)]
    #[case(json!({"type": "insufficient_quota"}), 429)]
    #[case(json!({"code": "context_length_exceeded", "type": "invalid_request_error"}), 400)]
    #[case(json!({"code": null, "type": "invalid_request_error"}), 400)]
    #[case(json!({"type": "authentication_error"}), 400)]
    #[case(json!({"type": "BadRequestError", "code": 400}), 400)]
    #[case(json!({"type": "overloaded_error"}), 500)]
    #[case(json!({"code": 7, "type": "server_error"}), 500)]
    #[case(json!({"message": "an invalid question, says the server"}), 500)]
    #[case(json!("a sentence"), 500)]
    fn errors_in_a_stream_have_a_status(#[case] error: Value, #[case] expected: u16) {
        assert_eq!(UpstreamError::read(None, &error, None).status, expected);
    }

    #[rstest]
    #[case(json!({"code": "model_not_found", "type": "invalid_request_error"}), "the upstream returned 404, code model_not_found, type invalid_request_error")]
    #[case(json!({"code": "hello, here is your prompt", "type": ""}), "the upstream returned 404")]
    #[case(json!({"code": "bad-key-sk-secret", "message": "sk-secret"}), "the upstream returned 404")]
    #[case(json!({"code": ["a"], "type": {"b": 1}}), "the upstream returned 404")]
    #[case(json!({"code": "a".repeat(65)}), "the upstream returned 404")]
    fn only_error_names_are_shown(#[case] error: Value, #[case] expected: &str) {
        let upstream_error =
            UpstreamError::read(Some(StatusCode::NOT_FOUND), &error, Some("sk-secret"));
        assert_eq!(upstream_error.to_string(), expected);
    }
}
