//! The issuers whose tokens are accepted, and the rules for their tokens.

use std::time::Duration;

use access::{AccessError, AuthContext, jwt::SignatureAlgorithm};
use domain::{CredentialSource, LimitOverrides, Principal, PrincipalId, Scope, Timestamp};
use serde_json::{Value, json};

use super::trust::{AUDIENCE, MAIN, NOW, Trust, claims, is_invalid, issuer, keys_of, tenant};
use crate::named_key::NamedKey;

const OTHER: &str = "https://other.example/";

#[tokio::test]
async fn a_user_is_accepted_until_the_token_expires() {
    let trust = Trust::in_main(|_| {});
    let entrant = trust.enter_with(&json!({})).await.unwrap();
    let expected = AuthContext {
        principal: Principal {
            tenant: tenant("default"),
            id: PrincipalId::new("main~ada"),
            scopes: [Scope::AgentsRead, Scope::ChatWrite].into_iter().collect(),
            user_id: Some("main~ada".to_owned()),
        },
        credential: None,
        standing: CredentialSource::ForeignToken,
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        ends_at: Some(Timestamp::from_milliseconds((NOW + 600) * 1_000)),
    };
    assert_eq!(entrant, expected);
}

#[tokio::test]
async fn a_token_is_verified_only_with_the_keys_of_the_issuer_that_it_names() {
    let trust = Trust::in_issuers(vec![issuer("main", MAIN), issuer("other", OTHER)]);
    let (main, other) = (trust.key(MAIN), trust.key(OTHER));
    let of_other = claims(&json!({"iss": OTHER}));
    let entrant = trust.enter(&other.sign(&of_other)).await.unwrap();
    assert_eq!(entrant.principal.id.as_str(), "other~ada");
    // Both issuers use the key id `a`.
    assert!(is_invalid(&trust.enter(&main.sign(&of_other)).await));
    assert!(is_invalid(
        &trust.enter(&other.sign(&claims(&json!({})))).await
    ));
    let asked: Vec<String> = trust
        .documents
        .asked()
        .into_iter()
        .map(|(url, _)| url)
        .collect();
    assert_eq!(asked, [keys_of(OTHER), keys_of(MAIN)]);
}

#[tokio::test]
async fn the_name_of_an_issuer_must_match_exactly() {
    let trust = Trust::in_main(|_| {});
    for iss in [
        json!("https://id.example/"),
        json!("https://ID.example"),
        json!("http://id.example"),
        json!("https://id.example.org"),
        json!("main"),
        json!(""),
        json!([MAIN]),
        Value::Null,
    ] {
        assert!(
            is_invalid(&trust.enter_with(&json!({"iss": iss})).await),
            "{iss}"
        );
    }
    assert_eq!(trust.documents.asked(), []);
}

#[tokio::test]
async fn an_issuer_may_only_use_its_configured_algorithms() {
    let trust = Trust::in_main(|issuer| issuer.algorithms = vec![SignatureAlgorithm::EdDsa]);
    assert!(is_invalid(&trust.enter_with(&json!({})).await));
    let key = NamedKey::new(SignatureAlgorithm::EdDsa, "b");
    trust
        .documents
        .publish(&keys_of(MAIN), json!({"keys": [key.public()]}));
    trust.clock.forward(Duration::from_secs(30));
    assert!(trust.enter(&key.sign(&claims(&json!({})))).await.is_ok());
}

#[tokio::test]
async fn a_token_must_have_a_configured_audience() {
    let trust = Trust::in_main(|issuer| issuer.audiences.push("agents".to_owned()));
    for (aud, expected) in [
        (json!(AUDIENCE), true),
        (json!("agents"), true),
        (json!(["account", "agents"]), true),
        (json!(["account"]), false),
        (json!("https://agents.example/"), false),
        (json!("Agents"), false),
        (json!([]), false),
        (json!(""), false),
        (json!([7, "agents"]), false),
        (json!({"agents": true}), false),
        (Value::Null, false),
    ] {
        let outcome = trust.enter_with(&json!({"aud": aud})).await;
        assert_eq!(outcome.is_ok(), expected, "{aud}");
        assert_eq!(is_invalid(&outcome), !expected, "{aud}");
    }
}

#[tokio::test]
async fn a_subject_is_text_that_fits_into_a_name() {
    let trust = Trust::in_main(|_| {});
    for (sub, expected) in [
        (json!("auth0|5f7c8ec7c33c6c004bbafe82"), true),
        (json!("ä".repeat(255)), true),
        (json!("ä".repeat(256)), false),
        (json!("a~b"), true),
        (json!(" "), true),
        (json!(""), false),
        (json!("a\u{0}b"), false),
        (json!("a\nb"), false),
        (json!("a\u{9f}"), false),
        (json!(7), false),
        (json!(["ada"]), false),
        (Value::Null, false),
    ] {
        let outcome = trust.enter_with(&json!({"sub": sub})).await;
        assert_eq!(is_invalid(&outcome), !expected, "{sub}");
        if expected {
            let name = format!("main~{}", sub.as_str().unwrap());
            let principal = outcome.unwrap().principal;
            assert_eq!(principal.id.as_str(), name);
            assert_eq!(principal.user_id, Some(name));
        }
    }
}

#[tokio::test]
async fn expiry_is_reported_only_for_genuine_tokens() {
    let trust = Trust::in_main(|_| {});
    let at = |seconds: i64| json!({"exp": NOW + seconds});
    assert!(trust.enter_with(&at(-29)).await.is_ok());
    let outcome = trust.enter_with(&at(-30)).await;
    assert!(matches!(outcome, Err(AccessError::Expired)), "{outcome:?}");
    let forger = NamedKey::new(SignatureAlgorithm::Es256, "a");
    let outcome = trust.enter(&forger.sign(&claims(&at(-30)))).await;
    assert!(is_invalid(&outcome), "{outcome:?}");
    for changes in [
        json!({"exp": null}),
        json!({"exp": "later"}),
        json!({"nbf": NOW + 31}),
        json!({"nbf": "now"}),
    ] {
        assert!(is_invalid(&trust.enter_with(&changes).await), "{changes}");
    }
}

#[tokio::test]
async fn verification_without_the_keys_of_an_issuer_returns_an_error() {
    let trust = Trust::in_main(|_| {});
    trust.documents.take_down();
    let outcome = trust.enter_with(&json!({})).await;
    let Err(AccessError::IssuerUnavailable(id)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(id, "main");
}
