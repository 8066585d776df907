//! The accepted syntax of tokens.

use access::jwt::{SignatureAlgorithm, UnverifiedToken};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::key_with_id::KeyWithId;

fn token(header: &str, claims: &str) -> String {
    let (header, claims) = (
        URL_SAFE_NO_PAD.encode(header),
        URL_SAFE_NO_PAD.encode(claims),
    );
    format!("{header}.{claims}.c2lnbmF0dXJl")
}

fn is_accepted(text: &str) -> bool {
    UnverifiedToken::parse(text).is_some()
}

#[test]
fn issuer_key_id_and_algorithm_are_parsed() {
    let text = token(
        r#"{"alg":"PS256","kid":"a","typ":"at+jwt","extra":{}}"#,
        r#"{"iss":"https://id.example"}"#,
    );
    let read = UnverifiedToken::parse(&text).unwrap();
    assert_eq!(read.issuer(), Some("https://id.example"));
    assert_eq!(read.key_id(), Some("a"));
    assert_eq!(read.algorithm(), SignatureAlgorithm::Ps256);
}

#[test]
fn null_in_a_header_counts_as_absent() {
    let text = token(r#"{"alg":"ES256","kid":null,"typ":null}"#, "{}");
    let read = UnverifiedToken::parse(&text).unwrap();
    assert_eq!(read.key_id(), None);
    assert!(!read.has_any_media_type());
}

#[test]
fn an_issuer_that_is_not_a_string_is_ignored() {
    for claims in [
        "{}",
        r#"{"iss":null}"#,
        r#"{"iss":["https://id.example"]}"#,
        r#"{"iss":7}"#,
    ] {
        let text = token(r#"{"alg":"ES256"}"#, claims);
        assert_eq!(UnverifiedToken::parse(&text).unwrap().issuer(), None);
    }
}

#[test]
fn only_accepted_algorithms_are_parsed() {
    for algorithm in ["ES256", "ES384", "RS256", "PS256", "EdDSA"] {
        assert!(is_accepted(&token(
            &json!({"alg": algorithm}).to_string(),
            "{}"
        )));
    }
    for algorithm in [
        json!("none"),
        json!("None"),
        json!("NONE"),
        json!(""),
        json!("HS256"),
        json!("HS384"),
        json!("HS512"),
        json!("RS384"),
        json!("RS512"),
        json!("PS512"),
        json!("ES512"),
        json!("ES256K"),
        json!("es256"),
        json!("Ed448"),
        json!(["ES256"]),
        json!(256),
        Value::Null,
    ] {
        let header = json!({"alg": algorithm}).to_string();
        assert!(!is_accepted(&token(&header, "{}")), "{algorithm}");
    }
    assert!(!is_accepted(&token("{}", "{}")));
}

#[test]
fn critical_extensions_and_malformed_headers_are_rejected() {
    for header in [
        r#"{"alg":"ES256","crit":["exp"],"exp":1}"#,
        r#"{"alg":"ES256","crit":[]}"#,
        r#"{"alg":"ES256","b64":false,"crit":["b64"]}"#,
        r#"{"alg":"ES256","crit":null}"#,
        r#"{"alg":"ES256","kid":7}"#,
        r#"{"alg":"ES256","typ":["at+jwt"]}"#,
        r#"{"alg":"none","alg":"ES256"}"#,
        r#"{"alg":"ES256","alg":"ES256"}"#,
        r#"["ES256"]"#,
        "",
    ] {
        assert!(!is_accepted(&token(header, "{}")), "{header}");
    }
}

#[test]
fn claims_that_are_not_a_plain_object_are_rejected() {
    for claims in [
        "",
        "[]",
        "null",
        r#"{"sub":"ada","sub":"bob"}"#,
        r#"{"realm_access":{"roles":[],"roles":["admin"]}}"#,
        r#"{"sub":"ada"}{"sub":"bob"}"#,
    ] {
        assert!(
            !is_accepted(&token(r#"{"alg":"ES256"}"#, claims)),
            "{claims}"
        );
    }
    let not_text = URL_SAFE_NO_PAD.encode(b"{\"sub\":\"\xff\"}");
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256"}"#);
    assert!(!is_accepted(&format!("{header}.{not_text}.c2ln")));
}

#[test]
fn a_token_has_three_parts_in_base64url() {
    let good = token(r#"{"alg":"ES256"}"#, r#"{"a":"???>>>"}"#);
    assert!(is_accepted(&good));
    let (header, rest) = good.split_once('.').unwrap();
    let (claims, signature) = rest.split_once('.').unwrap();
    for text in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        header.to_owned(),
        format!("{header}.{claims}"),
        format!("{good}.{signature}"),
        format!("{header}..{signature}"),
        format!(".{claims}.{signature}"),
        format!("{header}=.{claims}.{signature}"),
        format!("{header}.{}.{signature}", claims.replace(['-', '_'], "/")),
        format!("{header}.{claims}\n.{signature}"),
        format!(" {good}"),
    ] {
        assert!(!is_accepted(&text), "{text:?}");
    }
}

#[test]
fn tokens_over_sixteen_kibibytes_are_rejected() {
    let of_length = |length: usize| {
        let empty = token(r#"{"alg":"ES256"}"#, "{}");
        format!("{empty}{}", "A".repeat(length - empty.len()))
    };
    assert!(is_accepted(&of_length(16 * 1024)));
    assert!(!is_accepted(&of_length(16 * 1024 + 1)));
    assert!(!is_accepted(&of_length(64 * 1024)));
}

#[test]
fn the_type_is_a_media_type_in_any_case() {
    let key = KeyWithId::new(SignatureAlgorithm::Es256, "a");
    for (typ, expected) in [
        (json!("at+jwt"), true),
        (json!("AT+JWT"), true),
        (json!("application/at+jwt"), true),
        (json!("Application/AT+jwt"), true),
        (json!("JWT"), false),
        (json!("at+jwt2"), false),
        (json!("text/at+jwt"), false),
        (json!("application/application/at+jwt"), false),
        (json!(""), false),
        (Value::Null, false),
    ] {
        let text = key.sign_with_header(&json!({"typ": typ}), &json!({}));
        let token = UnverifiedToken::parse(&text).unwrap();
        assert_eq!(token.has_media_type("at+jwt"), expected, "{typ}");
    }
}
