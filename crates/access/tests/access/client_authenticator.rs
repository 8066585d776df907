//! Clients that authenticate with a secret.

use std::time::Duration;

use access::oauth_server::{ClientCredentials, OAuthError};
use domain::{
    Credential, CredentialKind, CredentialSecret, credential::PublicKeys,
    credential_secret::RANDOM_BYTES,
};
use jsonwebtoken::Algorithm;
use ports::{Idempotent, NewProof};

use crate::{
    fixed_limiter::WAIT,
    fixture::{Fixture, START},
    key_pairs::KeyPair,
    node::{Node, basic, post},
};

async fn is_rejected(node: &Node, credentials: &ClientCredentials) -> bool {
    match node.request_token(credentials, |_| {}).await {
        Ok(_) => false,
        Err(OAuthError::InvalidClient) => true,
        Err(error) => panic!("{error:?}"),
    }
}

fn with_secret(id: &str, secret: &str) -> [ClientCredentials; 2] {
    let (id, secret) = (id.to_owned(), secret.to_owned());
    [
        ClientCredentials {
            basic: Some((id.clone(), secret.clone())),
            ..ClientCredentials::default()
        },
        ClientCredentials {
            client_id: Some(id),
            client_secret: Some(secret),
            ..ClientCredentials::default()
        },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_accepted_in_the_header_and_in_the_form() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (client, secret) = fixture.client(|_| {}).await;
    assert!(!is_rejected(&node, &basic(&secret)).await);
    assert!(!is_rejected(&node, &post(&client, &secret)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_authentication_failure_has_the_same_error() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (client, secret) = fixture.client(|_| {}).await;
    let (_, others) = fixture.client(|_| {}).await;
    let (revoked, of_revoked) = fixture.client(|_| {}).await;
    fixture.revoke(&revoked).await;
    let ended = |client: &mut Credential| client.expires_at = Some(START);
    let (_, of_ended) = fixture.client(ended).await;
    let as_key = |client: &mut Credential| client.kind = CredentialKind::Key;
    let (_, of_key) = fixture.client(as_key).await;
    let signing = KeyPair::new(Algorithm::ES256).set("a");
    let signing = fixture.signing_client(PublicKeys::Set(signing)).await;
    let unknown = fixture.new_secret();
    let guessed = CredentialSecret::mint_for(CredentialKind::Client, &client.id, &[7; 32]);
    let for_signing = CredentialSecret::mint_for(CredentialKind::Client, &signing.id, &[7; 32]);
    let api_key = CredentialSecret::mint(CredentialKind::Key, &[7; RANDOM_BYTES]);
    let mut mistyped = secret.reveal().to_owned();
    mistyped.pop();
    let (id, own) = (client.id.as_str(), secret.reveal());
    for (id, secret) in [
        (id, guessed.reveal()),
        (id, others.reveal()),
        (id, mistyped.as_str()),
        (id, ""),
        (id, id),
        ("", own),
        ("nobody", own),
        (others.id().as_str(), own),
        (unknown.id().as_str(), unknown.reveal()),
        (of_revoked.id().as_str(), of_revoked.reveal()),
        (of_ended.id().as_str(), of_ended.reveal()),
        (of_key.id().as_str(), of_key.reveal()),
        (signing.id.as_str(), for_signing.reveal()),
        (api_key.id().as_str(), api_key.reveal()),
    ] {
        for credentials in with_secret(id, secret) {
            assert!(is_rejected(&node, &credentials).await, "{id} with {secret}");
        }
    }
    assert!(is_rejected(&node, &ClientCredentials::default()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_secret_is_valid_until_the_overlap_ends() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (client, old) = fixture.client(|_| {}).await;
    let new = CredentialSecret::mint_for(CredentialKind::Client, &client.id, &[7; 32]);
    let proof = NewProof::Secret {
        digest: new.digest(),
        last4: new.last4().to_owned(),
        previous_until: Some(START + Duration::from_mins(1)),
    };
    let (kind, credentials) = (CredentialKind::Client, &fixture.storage.credentials);
    let rotated = credentials
        .rotate(kind, &client.tenant, &client.id, &proof, None)
        .await;
    let Idempotent::Applied(Some(_)) = rotated.unwrap() else {
        panic!("the client is there, and no key was used");
    };
    fixture.clock.forward(Duration::from_millis(59_999));
    assert!(!is_rejected(&node, &basic(&old)).await);
    assert!(!is_rejected(&node, &basic(&new)).await);
    fixture.clock.forward(Duration::from_millis(1));
    assert!(is_rejected(&node, &basic(&old)).await);
    assert!(!is_rejected(&node, &basic(&new)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn token_endpoint_requests_count_against_the_rate_limit_of_the_client() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (client, secret) = fixture.client(|_| {}).await;
    let credentials = basic(&secret);
    node.limiter.set(3);
    let token = node.token(&secret).await;
    let found = node.server.introspect(&credentials, Some(&token)).await;
    assert!(found.expect("it may ask").is_some());
    let revoked = node.server.revoke(&credentials, Some(&token)).await;
    revoked.expect("it may ask");
    let rejected = [
        node.request_token(&credentials, |_| {}).await.map(|_| ()),
        node.server
            .introspect(&credentials, Some(&token))
            .await
            .map(|_| ()),
        node.server.revoke(&credentials, Some(&token)).await,
    ];
    for outcome in rejected {
        assert!(
            matches!(outcome, Err(OAuthError::RateLimited { wait: WAIT })),
            "{outcome:?}"
        );
    }
    let (_, of_another) = fixture.client(|_| {}).await;
    node.limiter.set(1);
    let pretender = post(&client, &of_another);
    let outcome = node.request_token(&pretender, |_| {}).await;
    assert!(
        matches!(outcome, Err(OAuthError::InvalidClient)),
        "{outcome:?}"
    );
    assert!(
        node.request_token(&credentials, |_| {}).await.is_ok(),
        "a rejected client is not counted"
    );
}
