//! Discovery of an issuer's keys through its metadata.

use std::sync::Arc;

use access::{
    jwt::{SignatureAlgorithm, UnverifiedToken},
    tokens::{KeyLocation, KeySets, KeysUnavailable},
};
use ports::UrlTrust;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::{fake_web::FakeWeb, fixture::ManualClock, key_with_id::KeyWithId};

const ISSUER: &str = "https://id.example/realms/a";
const OPENID: &str = "https://id.example/realms/a/.well-known/openid-configuration";
const OAUTH: &str = "https://id.example/.well-known/oauth-authorization-server/realms/a";
const KEYS: &str = "https://keys.example/a";

/// Returns whether a token of the issuer is verified when these metadata are published (`null` for
/// none), and the URLs that were requested.
async fn found(openid: Value, oauth: Value) -> (Result<bool, KeysUnavailable>, Vec<String>) {
    let documents = Arc::<FakeWeb>::default();
    let key = KeyWithId::new(SignatureAlgorithm::Es256, "a");
    documents.publish(KEYS, json!({"keys": [key.public()]}));
    for (url, metadata) in [(OPENID, openid), (OAUTH, oauth)] {
        if !metadata.is_null() {
            documents.publish(url, metadata);
        }
    }
    let key_sets = KeySets::new(
        Arc::clone(&documents) as _,
        ManualClock::new(),
        TaskTracker::new(),
        Handle::current(),
    );
    let keys = key_sets.at(
        KeyLocation::MetadataOf(ISSUER.to_owned()),
        UrlTrust::Operator,
    );
    let text = key.sign(&json!({}));
    let token = UnverifiedToken::parse(&text).expect("a token");
    let verified = keys.verify(&token, SignatureAlgorithm::ALL).await;
    let requests = documents.requests().into_iter().map(|(url, trust)| {
        assert_eq!(trust, UrlTrust::Operator);
        url
    });
    (verified.map(|claims| claims.is_some()), requests.collect())
}

fn metadata(issuer: &str) -> Value {
    json!({"issuer": issuer, "jwks_uri": KEYS, "token_endpoint": "https://id.example/token"})
}

#[tokio::test]
async fn keys_are_found_through_openid_connect_metadata() {
    let (verified, requests) = found(metadata(ISSUER), Value::Null).await;
    assert_eq!(verified, Ok(true));
    assert_eq!(requests, [OPENID, KEYS]);
}

#[tokio::test]
async fn keys_are_found_through_oauth_metadata_without_openid_connect_metadata() {
    for openid in [
        Value::Null,
        metadata("https://id.example"),
        json!({"issuer": ISSUER}),
    ] {
        let (verified, requests) = found(openid, metadata(ISSUER)).await;
        assert_eq!(verified, Ok(true));
        assert_eq!(requests, [OPENID, OAUTH, KEYS]);
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_are_rejected() {
    for metadata in [
        metadata("https://id.example/realms/a/"),
        metadata("https://id.example/realms/A"),
        metadata("https://attacker.example"),
        json!({"jwks_uri": KEYS}),
        json!({"issuer": ISSUER, "jwks_uri": [KEYS]}),
        json!([]),
        Value::Null,
    ] {
        let (verified, requests) = found(metadata.clone(), metadata).await;
        assert_eq!(verified, Err(KeysUnavailable));
        assert_eq!(requests, [OPENID, OAUTH]);
    }
}

#[tokio::test]
async fn keys_are_fetched_only_from_the_address_in_the_metadata() {
    let moved = json!({"issuer": ISSUER, "jwks_uri": "https://keys.example/b"});
    let (verified, requests) = found(moved, Value::Null).await;
    assert_eq!(verified, Err(KeysUnavailable));
    assert_eq!(requests, [OPENID, "https://keys.example/b"]);
}

#[tokio::test]
async fn a_remote_issuer_cannot_refer_to_keys_on_this_machine() {
    let inward = json!({"issuer": ISSUER, "jwks_uri": "http://127.0.0.1:8080/keys"});
    let (verified, requests) = found(inward.clone(), inward).await;
    assert_eq!(verified, Err(KeysUnavailable));
    assert_eq!(requests, [OPENID, OAUTH]);
}
