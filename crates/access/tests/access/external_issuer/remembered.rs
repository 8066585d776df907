//! Authentication of users of external issuers, beside keys and clients of this service.

use std::{sync::Arc, time::Duration};

use access::{AccessError, Authenticator, LastUsed, PresentedCredential, tokens::AccessTokens};
use serde_json::json;

use super::trust::{MAIN, NOW, Trust, claims};
use crate::{
    node::{ISSUER, Node},
    world::{StandingClock, World},
};

/// An authenticator for clients of a store and users of the main issuer, its clock, and a token of
/// such a user.
async fn door(world: &World, node: &Node) -> (Authenticator, Arc<StandingClock>, String) {
    let trust = Trust::in_main(|_| {});
    let token = trust.key(MAIN).sign(&claims(&json!({"exp": NOW + 40})));
    let authenticator = Authenticator::new(
        Arc::clone(&world.storage.credentials),
        Arc::new(AccessTokens::new(Arc::clone(&node.tokens), trust.issuers)),
        trust.clock.clone(),
        Arc::new(LastUsed::new(Arc::clone(&world.storage.credentials))),
    );
    authenticator.watch().await.expect("a store");
    (authenticator, trust.clock, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_cached_for_thirty_seconds_but_not_beyond_the_expiry_of_the_token() {
    let world = World::new().await;
    let node = Node::start(&world).await;
    let (door, clock, token) = door(&world, &node).await;
    let presented = PresentedCredential::new(&token);
    let entrant = door.authenticate(&presented).await.unwrap();
    assert_eq!(entrant.principal.id.as_str(), "main~ada");
    for (seconds, is_recognised) in [(29, true), (1, false)] {
        clock.forward(Duration::from_secs(seconds));
        door.watch().await.unwrap();
        assert_eq!(door.recognise(&presented).is_some(), is_recognised);
    }
    door.authenticate(&presented).await.unwrap();
    for (seconds, is_recognised) in [(9, true), (1, false)] {
        clock.forward(Duration::from_secs(seconds));
        door.watch().await.unwrap();
        assert_eq!(door.recognise(&presented).is_some(), is_recognised);
    }
    // The leeway applies only to a new verification of the token.
    door.authenticate(&presented).await.unwrap();
    clock.forward(Duration::from_secs(30));
    let outcome = door.authenticate(&presented).await;
    assert!(matches!(outcome, Err(AccessError::Expired)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_tokens_and_those_of_others_come_in_by_one_door() {
    let world = World::new().await;
    let node = Node::start(&world).await;
    let (door, _clock, token) = door(&world, &node).await;
    let (client, secret) = world.client(|_| {}).await;
    let own = node.token(&secret).await;
    assert_eq!(
        door.authenticate(&PresentedCredential::new(&own))
            .await
            .unwrap()
            .credential,
        Some(client.id)
    );
    assert_eq!(
        door.authenticate(&PresentedCredential::new(&token))
            .await
            .unwrap()
            .credential,
        None
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_is_a_credential() {
    let world = World::new().await;
    let node = Node::start(&world).await;
    let (door, _clock, token) = door(&world, &node).await;
    let forged = Trust::in_main(|_| {});
    for text in [
        "",
        "agk_",
        "Bearer",
        "..",
        &token[..token.len() - 1],
        &format!("agk_{token}"),
        world.new_secret().reveal(),
        &forged.key(MAIN).sign(&claims(&json!({}))),
        &forged.key(MAIN).sign(&claims(&json!({"iss": ISSUER}))),
        &forged.key(MAIN).sign(&claims(&json!({"iss": null}))),
        &"a".repeat(64 * 1024),
    ] {
        let outcome = door.authenticate(&PresentedCredential::new(text)).await;
        assert!(
            matches!(outcome, Err(AccessError::Invalid)),
            "{text}: {outcome:?}"
        );
    }
}
