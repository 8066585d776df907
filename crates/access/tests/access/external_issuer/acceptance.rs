//! The issuers whose tokens are accepted, and the rules for their tokens.

use std::{sync::Arc, time::Duration};

use access::{AccessError, AuthContext, jwt::SignatureAlgorithm};
use domain::{CredentialSource, LimitOverrides, Principal, PrincipalId, Scope, Timestamp};
use serde_json::{Value, json};

use super::fixture::{
    AUDIENCE, IssuerFixture, MAIN, NOW, claims, is_invalid, issuer, keys_of, tenant,
};
use crate::key_with_id::KeyWithId;

const OTHER: &str = "https://other.example/";

#[tokio::test]
async fn a_user_is_accepted_until_the_token_expires() {
    let fixture = IssuerFixture::main(|_| {});
    let auth_context = fixture.authenticate_claims(&json!({})).await.unwrap();
    let expected = AuthContext {
        principal: Principal {
            tenant: tenant("default"),
            id: PrincipalId::new("main~ada"),
            scopes: [Scope::AgentsRead, Scope::ChatWrite].into_iter().collect(),
            user_id: Some("main~ada".to_owned()),
            agents: domain::AgentReach::ALL,
            names_user: false,
        },
        credential: None,
        source: Arc::new(CredentialSource::ExternalToken),
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        ends_at: Some(Timestamp::from_milliseconds((NOW + 600) * 1_000)),
    };
    assert_eq!(auth_context, expected);
}

#[tokio::test]
async fn a_token_is_verified_only_with_the_keys_of_the_issuer_that_it_names() {
    let fixture = IssuerFixture::new(vec![issuer("main", MAIN), issuer("other", OTHER)]);
    let (main, other) = (fixture.key(MAIN), fixture.key(OTHER));
    let of_other = claims(&json!({"iss": OTHER}));
    let auth_context = fixture.authenticate(&other.sign(&of_other)).await.unwrap();
    assert_eq!(auth_context.principal.id.as_str(), "other~ada");
    // Both issuers use the key id `a`.
    assert!(is_invalid(
        &fixture.authenticate(&main.sign(&of_other)).await
    ));
    assert!(is_invalid(
        &fixture.authenticate(&other.sign(&claims(&json!({})))).await
    ));
    let requests: Vec<String> = fixture
        .documents
        .requests()
        .into_iter()
        .map(|(url, _)| url)
        .collect();
    assert_eq!(requests, [keys_of(OTHER), keys_of(MAIN)]);
}

#[tokio::test]
async fn the_name_of_an_issuer_must_match_exactly() {
    let fixture = IssuerFixture::main(|_| {});
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
            is_invalid(&fixture.authenticate_claims(&json!({"iss": iss})).await),
            "{iss}"
        );
    }
    assert_eq!(fixture.documents.requests(), []);
}

#[tokio::test]
async fn an_issuer_may_only_use_its_configured_algorithms() {
    let fixture = IssuerFixture::main(|issuer| issuer.algorithms = vec![SignatureAlgorithm::EdDsa]);
    assert!(is_invalid(&fixture.authenticate_claims(&json!({})).await));
    let key = KeyWithId::new(SignatureAlgorithm::EdDsa, "b");
    fixture
        .documents
        .publish(&keys_of(MAIN), json!({"keys": [key.public()]}));
    fixture.clock.forward(Duration::from_secs(30));
    assert!(
        fixture
            .authenticate(&key.sign(&claims(&json!({}))))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_token_must_have_a_configured_audience() {
    let fixture = IssuerFixture::main(|issuer| issuer.audiences.push("agents".to_owned()));
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
        let outcome = fixture.authenticate_claims(&json!({"aud": aud})).await;
        assert_eq!(outcome.is_ok(), expected, "{aud}");
        assert_eq!(is_invalid(&outcome), !expected, "{aud}");
    }
}

#[tokio::test]
async fn a_subject_is_text_that_fits_into_a_name() {
    let fixture = IssuerFixture::main(|_| {});
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
        let outcome = fixture.authenticate_claims(&json!({"sub": sub})).await;
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
    let fixture = IssuerFixture::main(|_| {});
    let at = |seconds: i64| json!({"exp": NOW + seconds});
    assert!(fixture.authenticate_claims(&at(-29)).await.is_ok());
    let outcome = fixture.authenticate_claims(&at(-30)).await;
    assert!(matches!(outcome, Err(AccessError::Expired)), "{outcome:?}");
    let forger = KeyWithId::new(SignatureAlgorithm::Es256, "a");
    let outcome = fixture.authenticate(&forger.sign(&claims(&at(-30)))).await;
    assert!(is_invalid(&outcome), "{outcome:?}");
    for changes in [
        json!({"exp": null}),
        json!({"exp": "later"}),
        json!({"nbf": NOW + 31}),
        json!({"nbf": "now"}),
    ] {
        assert!(
            is_invalid(&fixture.authenticate_claims(&changes).await),
            "{changes}"
        );
    }
}

#[tokio::test]
async fn verification_without_the_keys_of_an_issuer_returns_an_error() {
    let fixture = IssuerFixture::main(|_| {});
    fixture.documents.unpublish_all();
    let outcome = fixture.authenticate_claims(&json!({})).await;
    let Err(AccessError::IssuerUnavailable(id)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(id, "main");
}
