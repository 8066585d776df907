//! Issuing tokens for users: their contents and their checks.

use std::{sync::Arc, time::Duration};

use access::{AccessError, UserTokenError, UserTokenRequest, UserTokens};
use domain::{CredentialKind, LimitOverrides, Scope, Scopes};
use serde_json::{Value, json};

use super::backend::{Backend, DAY, NOW, pointers, request, scopes};
use crate::{
    fixture::{Fixture, START},
    key_pairs::KeyPair,
    node::{ISSUER, Node},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_key_or_client_authenticates_its_user() {
    for kind in [CredentialKind::Key, CredentialKind::Client] {
        assert_authenticates_user(kind).await;
    }
}

async fn assert_authenticates_user(kind: CredentialKind) {
    let fixture = Fixture::new().await;
    let limits = LimitOverrides {
        streams: Some(1),
        ..LimitOverrides::default()
    };
    let backend = Backend::start(&fixture, |issuer| {
        issuer.kind = kind;
        issuer.limits = limits;
    });
    let backend = backend.await;
    let issued = backend.issue(request("Zoë 🦊")).await.expect("a token");
    assert_eq!(issued.expires_in, 3_600);
    let context = backend.node.authenticate(&issued.text).await;
    let context = context.expect("a valid token");
    assert_eq!(context.principal.id.as_str(), "user:Zoë 🦊");
    assert_eq!(context.principal.user_id.as_deref(), Some("Zoë 🦊"));
    assert_eq!(context.principal.tenant, backend.issuer.tenant);
    assert_eq!(context.principal.confined_to(), Some("Zoë 🦊"));
    assert_eq!(context.principal.scopes, Scopes::default_of_user_tokens());
    assert_eq!(
        context.limits,
        LimitOverrides::default(),
        "not the issuer's"
    );
    assert_eq!(context.credential, None, "the issuer was not used itself");
    assert_eq!(context.ends_at, Some(START + Duration::from_hours(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_valid_at_most_a_day_and_no_longer_than_its_issuer() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let lasting = |expires_in| UserTokenRequest {
        expires_in,
        ..request("ada")
    };
    for expires_in in [0, DAY + 1, u32::MAX] {
        let outcome = backend.issue(lasting(expires_in)).await;
        assert_eq!(pointers(outcome), ["/expiresIn"], "{expires_in}");
    }
    let longest = backend.issue(lasting(DAY)).await.unwrap();
    assert_eq!(longest.expires_in, i64::from(DAY));
    let end = START + Duration::from_secs(90);
    let expiring = Backend::start(&fixture, |issuer| issuer.expires_at = Some(end)).await;
    let shortened = expiring.issue(lasting(DAY)).await.unwrap();
    assert_eq!(shortened.expires_in, 90);
    fixture.clock.forward(Duration::from_secs(90));
    let outcome = expiring.issue(lasting(DAY)).await;
    assert!(matches!(outcome, Err(UserTokenError::CredentialEnded)));
    assert!(!backend.node.accepts(&shortened.text).await);
    fixture
        .clock
        .forward(Duration::from_secs(u64::from(DAY) - 91));
    assert!(backend.node.accepts(&longest.text).await);
    fixture.clock.forward(Duration::from_secs(31));
    let outcome = backend.node.authenticate(&longest.text).await;
    assert!(matches!(outcome, Err(AccessError::Expired)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_no_more_scopes_than_its_issuer() {
    let fixture = Fixture::new().await;
    let held = [Scope::ChatWrite, Scope::AgentsRead, Scope::UserTokensIssue];
    let backend = Backend::start(&fixture, |issuer| issuer.scopes = scopes(&held)).await;
    let asking = |wanted: &[Scope]| UserTokenRequest {
        scopes: Some(scopes(wanted)),
        ..request("ada")
    };
    let default = backend.issue(request("ada")).await.unwrap();
    assert_eq!(default.scopes, scopes(&[Scope::ChatWrite]));
    let wider = backend.issue(asking(&[Scope::AgentsRead])).await.unwrap();
    assert_eq!(wider.scopes, scopes(&[Scope::AgentsRead]));
    let outcome = backend
        .issue(asking(&[Scope::ChatWrite, Scope::EventsRead]))
        .await;
    let missing = scopes(&[Scope::EventsRead]);
    assert!(matches!(outcome, Err(UserTokenError::MissingScopes(it)) if it == missing));
    for forbidden in Scopes::all().without(&Scopes::of_user_tokens()).iter() {
        let outcome = backend.issue(asking(&[forbidden])).await;
        assert_eq!(pointers(outcome), ["/scopes"], "{forbidden}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_cannot_issue_tokens() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let token = backend.token("ada").await;
    let mut user = backend.node.authenticate(&token).await.unwrap();
    // Even if a token had the scope.
    user.principal.scopes = Scopes::all();
    let outcome = backend.users.issue(&user, request("bob")).await;
    assert!(matches!(outcome, Err(UserTokenError::MissingScopes(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn origins_are_those_of_the_issuer_or_a_selection_of_them() {
    let fixture = Fixture::new().await;
    let (shop, app) = ("https://shop.example", "https://app.example");
    let backend = Backend::start(&fixture, |issuer| {
        issuer.allowed_origins = vec![shop.to_owned(), app.to_owned()];
    });
    let (backend, free) = (backend.await, Backend::start(&fixture, |_| {}).await);
    let from = |origins: &[&str]| UserTokenRequest {
        allowed_origins: origins.iter().map(ToString::to_string).collect(),
        ..request("ada")
    };
    for (backend, origins, expected) in [
        (&backend, &[][..], &[shop, app][..]),
        (&backend, &[app], &[app]),
        (&free, &[], &[]),
        (
            &free,
            &["https://other.example"],
            &["https://other.example"],
        ),
    ] {
        let token = backend.issue(from(origins)).await.unwrap().text;
        let context = backend.node.authenticate(&token).await.unwrap();
        assert_eq!(context.allowed_origins, expected);
    }
    let outcome = backend.issue(from(&[app, "https://other.example"])).await;
    assert_eq!(pointers(outcome), ["/allowedOrigins/1"]);
    let outcome = free.issue(from(&["https://other.example/"])).await;
    assert_eq!(pointers(outcome), ["/allowedOrigins/0"]);
    let nine: Vec<String> = (0..9)
        .map(|port| format!("https://a.example:80{port}"))
        .collect();
    let nine: Vec<&str> = nine.iter().map(String::as_str).collect();
    assert_eq!(pointers(free.issue(from(&nine)).await), ["/allowedOrigins"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_claim_of_a_user_token_is_checked() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    backend.withdraw("ada").await;
    let stored = fixture.storage.signing_keys.list().await.unwrap().remove(0);
    let key = KeyPair::of_es256(&stored.private_key);
    let issuer = backend.issuer.id.as_str();
    let signed = |change: &dyn Fn(&mut Value)| {
        let mut claims = json!({
            "iss": ISSUER, "aud": ISSUER, "sub": "user:ada", "client_id": issuer,
            "client_kind": "key", "generation": 1, "iat": NOW, "exp": NOW + 600,
            "jti": "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11", "scope": "chat:write",
        });
        change(&mut claims);
        key.sign(&stored.kid, Some("at+jwt"), &claims)
    };
    assert!(backend.node.accepts(&signed(&|_| {})).await);
    for (claim, values) in [
        (
            "sub",
            vec![json!("ada"), json!("key:ada"), json!(7), Value::Null],
        ),
        (
            "client_id",
            vec![json!("000000000000"), json!(7), Value::Null],
        ),
        (
            "client_kind",
            vec![json!("client"), json!("user"), Value::Null],
        ),
        (
            "generation",
            vec![
                json!(0),
                json!(2),
                json!(-1),
                json!("1"),
                json!(1.5),
                Value::Null,
            ],
        ),
        (
            "allowed_origins",
            vec![json!("https://a.example"), json!([7])],
        ),
    ] {
        for value in values {
            let token = signed(&|claims| {
                claims[claim] = value.clone();
                if value.is_null() {
                    claims.as_object_mut().expect("claims").remove(claim);
                }
            });
            assert!(!backend.node.accepts(&token).await, "{claim}: {value}");
        }
    }
    let all = Scopes::all().joined(" ");
    let token = signed(&|claims| claims["scope"] = json!(all));
    let context = backend.node.authenticate(&token).await.unwrap();
    assert_eq!(context.principal.scopes, Scopes::of_user_tokens());
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_users_of_identity_providers_are_reserved() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let token = backend.token("main~ada").await;
    assert!(backend.node.accepts(&token).await);
    // The provider was configured after the token was issued.
    let reserving = Node::reserving(&fixture, &["main"]).await;
    assert!(!reserving.accepts(&token).await);
    let users = UserTokens::new(
        Arc::clone(&reserving.authenticator),
        Arc::clone(&fixture.storage.credentials),
        Arc::clone(&fixture.storage.tokens),
        fixture.clock.clone(),
    );
    let outcome = users.issue(&backend.caller, request("main~ada")).await;
    assert_eq!(pointers(outcome), ["/userId"]);
    for id in ["other~ada", "main", "Main~ada"] {
        assert!(
            users.issue(&backend.caller, request(id)).await.is_ok(),
            "{id}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_id_has_no_control_characters() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    for id in ["", "a\0", "a\nb", "\u{7f}", "\u{85}"] {
        assert_eq!(pointers(backend.issue(request(id)).await), ["/userId"]);
        let principal = &backend.caller.principal;
        let withdrawn = backend.users.withdraw(principal, id).await;
        assert!(
            matches!(withdrawn, Err(UserTokenError::InvalidUserId(_))),
            "{id:?}"
        );
    }
}
