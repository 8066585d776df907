//! Encryption of stored private keys, if the operator has configured an encryption key.

use std::{sync::Arc, time::Duration};

use access::{
    oauth_server::OAuthError,
    signing_keys::{KeyObstacle, PreviousKeys, SigningKeyError},
};

use crate::{
    fixture::Fixture,
    key_pairs::KeyPair,
    node::{Node, basic},
};

const OVERLAP: Duration = Duration::from_hours(25);

async fn start_error(fixture: &Fixture, key: Option<u8>) -> (String, KeyObstacle) {
    match Node::start_with(fixture, key).await {
        Err(SigningKeyError::Unreadable { kid, obstacle }) => (kid, obstacle),
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("the process started"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_stored_encrypted_if_an_encryption_key_is_configured() {
    for (encryption, is_sealed) in [(None, false), (Some(1), true)] {
        let fixture = Fixture::new().await;
        let node = Node::start_with(&fixture, encryption).await.unwrap();
        let stored = fixture.storage.signing_keys.list().await.unwrap().remove(0);
        assert_eq!(stored.is_sealed, is_sealed);
        assert_eq!(stored.kid, node.published()[0]);
        let readable = std::panic::catch_unwind(|| {
            KeyPair::of_es256(&stored.private_key).public(&stored.kid);
        });
        assert_eq!(readable.is_err(), is_sealed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_cannot_read_the_signing_key_does_not_start() {
    let fixture = Fixture::new().await;
    let first = Node::start_with(&fixture, Some(1))
        .await
        .unwrap()
        .published();
    for (key, obstacle) in [
        (None, KeyObstacle::NoEncryptionKey),
        (Some(2), KeyObstacle::OtherEncryptionKey),
    ] {
        assert_eq!(
            start_error(&fixture, key).await,
            (first[0].clone(), obstacle)
        );
    }
    let again = Node::start_with(&fixture, Some(1)).await.unwrap();
    assert_eq!(again.published(), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encryption_key_that_is_added_later_applies_from_the_next_rotation_on() {
    let fixture = Fixture::new().await;
    let (_, secret) = fixture.client(|_| {}).await;
    let open = Node::start(&fixture).await;
    let token = open.token(&secret).await;
    let sealing = Node::start_with(&fixture, Some(1)).await.unwrap();
    assert_eq!(sealing.published(), open.published());
    assert!(sealing.accepts(&token).await);
    assert!(open.accepts(&sealing.token(&secret).await).await);
    sealing.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    let stored = fixture.storage.signing_keys.list().await.unwrap();
    let sealed: Vec<bool> = stored.iter().map(|key| key.is_sealed).collect();
    assert_eq!(sealed, [true, false]);
    assert!(sealing.accepts(&token).await);
    assert!(sealing.accepts(&sealing.token(&secret).await).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_encryption_key_is_changed_by_a_rotation_with_the_new_one() {
    let fixture = Fixture::new().await;
    let (_, secret) = fixture.client(|_| {}).await;
    let old = Node::start_with(&fixture, Some(1)).await.unwrap();
    let token = old.token(&secret).await;
    // The rotation command does not read the keys that it replaces.
    let command = Node::new(&fixture, Some(2));
    command.keys.rotate(PreviousKeys::Overlap).await.unwrap();

    let new = Node::start_with(&fixture, Some(2)).await.unwrap();
    assert!(
        new.accepts(&token).await,
        "a public half is enough to verify"
    );
    let newest = new.token(&secret).await;
    // A process that has not been restarted yet uses the previous key as long as that is valid.
    old.keys.reload().await.unwrap();
    assert!(old.accepts(&newest).await);
    assert!(new.accepts(&old.token(&secret).await).await);
    fixture.clock.forward(OVERLAP);
    let outcome = old.request_token(&basic(&secret), |_| {}).await;
    assert!(
        matches!(outcome, Err(OAuthError::SigningKeys(_))),
        "{outcome:?}"
    );
    assert!(old.accepts(&new.token(&secret).await).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_with_the_id_of_another_key_is_not_read() {
    let fixture = Fixture::new().await;
    let elsewhere = Fixture::new().await;
    Node::start(&elsewhere).await;
    let mut swapped = elsewhere
        .storage
        .signing_keys
        .list()
        .await
        .unwrap()
        .remove(0);
    let genuine = KeyPair::new(jsonwebtoken::Algorithm::ES256);
    swapped.public_key = genuine.public("swapped");
    swapped.kid = "swapped".to_owned();
    let repository = Arc::clone(&fixture.storage.signing_keys);
    let added = repository.add(&swapped, None, swapped.created_at).await;
    assert!(added.unwrap());
    let expected = ("swapped".to_owned(), KeyObstacle::Damaged);
    assert_eq!(start_error(&fixture, None).await, expected);
}
