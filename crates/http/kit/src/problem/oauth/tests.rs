use access::tokens::KeysUnavailable;

use super::*;

/// The characters that a description may contain (RFC 6749, 5.2).
fn is_allowed(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, 0x20..=0x7e) && !b"\"\\".contains(&byte))
}

#[test]
fn every_error_has_a_code_and_a_description_that_oauth_allows() {
    for (error, status, word) in [
        (
            OAuthError::InvalidRequest("no form"),
            400,
            "invalid_request",
        ),
        (OAuthError::InvalidClient, 401, "invalid_client"),
        (
            OAuthError::KeysUnavailable(KeysUnavailable),
            503,
            "temporarily_unavailable",
        ),
        (
            OAuthError::RateLimited {
                wait: Duration::from_millis(1_001),
            },
            429,
            "temporarily_unavailable",
        ),
        (OAuthError::InvalidGrant, 400, "invalid_grant"),
        (
            OAuthError::UnsupportedGrantType,
            400,
            "unsupported_grant_type",
        ),
        (
            OAuthError::InvalidScope("the scope agents:own is unknown".to_owned()),
            400,
            "invalid_scope",
        ),
        (OAuthError::InvalidTarget, 400, "invalid_target"),
    ] {
        let sentence = error.to_string();
        let response = OAuthErrorResponse::from(error);
        assert_eq!((response.status.as_u16(), response.error), (status, word));
        assert_eq!(response.description, sentence);
        assert!(is_allowed(&sentence), "{sentence}");
    }
}

#[test]
fn temporary_errors_have_a_retry_after() {
    let wait = Duration::from_millis(1_001);
    for (error, expected) in [
        (OAuthError::RateLimited { wait }, Some("2")),
        (OAuthError::KeysUnavailable(KeysUnavailable), Some("30")),
        (OAuthError::InvalidClient, None),
    ] {
        let response = OAuthErrorResponse::from(error).error_response();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        assert_eq!(
            retry_after.map(|retry_after| retry_after.to_str().unwrap()),
            expected
        );
    }
}

#[test]
fn every_problem_has_a_code_and_a_description_that_oauth_allows() {
    for code in ProblemCode::ALL {
        let body: serde_json::Value = serde_json::from_slice(&error_body(*code)).unwrap();
        let error = body["error"].as_str().unwrap();
        let expected = match code.status() {
            429 | 503 => "temporarily_unavailable",
            500.. => "server_error",
            _ => "invalid_request",
        };
        assert_eq!(error, expected, "{code:?}");
        let description = body["error_description"].as_str().unwrap();
        assert!(is_allowed(description), "{description}");
    }
}
