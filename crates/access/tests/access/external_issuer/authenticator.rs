//! Authentication of users of external issuers, beside keys and clients of this service.

use std::{sync::Arc, time::Duration};

use access::{
    AccessError, Authenticator, LastUseRecorder, PresentedCredential, tokens::AccessTokens,
};
use serde_json::json;

use super::fixture::{IssuerFixture, MAIN, NOW, claims};
use crate::{
    fixture::{Fixture, ManualClock},
    node::{ISSUER, Node},
};

/// An authenticator for clients of a store and users of the main issuer, its clock, and a token of
/// such a user.
async fn authenticator(
    fixture: &Fixture,
    node: &Node,
) -> (Authenticator, Arc<ManualClock>, String) {
    let issuer = IssuerFixture::main(|_| {});
    let token = issuer.key(MAIN).sign(&claims(&json!({"exp": NOW + 40})));
    let authenticator = Authenticator::new(
        Arc::clone(&fixture.storage.credentials),
        Arc::new(AccessTokens::new(Arc::clone(&node.tokens), issuer.issuers)),
        issuer.clock.clone(),
        Arc::new(LastUseRecorder::new(Arc::clone(
            &fixture.storage.credentials,
        ))),
    );
    authenticator.refresh().await.expect("a store");
    (authenticator, issuer.clock, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_cached_for_thirty_seconds_but_not_beyond_the_expiry_of_the_token() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (authenticator, clock, token) = authenticator(&fixture, &node).await;
    let presented = PresentedCredential::new(&token);
    let auth_context = authenticator.authenticate(&presented).await.unwrap();
    assert_eq!(auth_context.principal.id.as_str(), "main~ada");
    for (seconds, is_cached) in [(29, true), (1, false)] {
        clock.forward(Duration::from_secs(seconds));
        authenticator.refresh().await.unwrap();
        assert_eq!(
            authenticator.authenticate_cached(&presented).is_some(),
            is_cached
        );
    }
    authenticator.authenticate(&presented).await.unwrap();
    for (seconds, is_cached) in [(9, true), (1, false)] {
        clock.forward(Duration::from_secs(seconds));
        authenticator.refresh().await.unwrap();
        assert_eq!(
            authenticator.authenticate_cached(&presented).is_some(),
            is_cached
        );
    }
    // The leeway applies only to a new verification of the token.
    authenticator.authenticate(&presented).await.unwrap();
    clock.forward(Duration::from_secs(30));
    let outcome = authenticator.authenticate(&presented).await;
    assert!(matches!(outcome, Err(AccessError::Expired)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_authenticator_accepts_own_and_external_tokens() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (authenticator, _clock, token) = authenticator(&fixture, &node).await;
    let (client, secret) = fixture.client(|_| {}).await;
    let own = node.token(&secret).await;
    assert_eq!(
        authenticator
            .authenticate(&PresentedCredential::new(&own))
            .await
            .unwrap()
            .credential,
        Some(client.id)
    );
    assert_eq!(
        authenticator
            .authenticate(&PresentedCredential::new(&token))
            .await
            .unwrap()
            .credential,
        None
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_texts_are_rejected() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (authenticator, _clock, token) = authenticator(&fixture, &node).await;
    let forged = IssuerFixture::main(|_| {});
    for text in [
        "",
        "agk_",
        "Bearer",
        "..",
        &token[..token.len() - 1],
        &format!("agk_{token}"),
        fixture.new_secret().reveal(),
        &forged.key(MAIN).sign(&claims(&json!({}))),
        &forged.key(MAIN).sign(&claims(&json!({"iss": ISSUER}))),
        &forged.key(MAIN).sign(&claims(&json!({"iss": null}))),
        &"a".repeat(64 * 1024),
    ] {
        let outcome = authenticator
            .authenticate(&PresentedCredential::new(text))
            .await;
        assert!(
            matches!(outcome, Err(AccessError::Invalid)),
            "{text}: {outcome:?}"
        );
    }
}
