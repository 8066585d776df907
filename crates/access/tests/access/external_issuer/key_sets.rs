//! The lifetime of cached keys, and the times at which they are fetched.

use std::time::Duration;

use access::{
    jwt::{SignatureAlgorithm, UnverifiedToken},
    tokens::KeysUnavailable,
};
use ports::UrlTrust;
use serde_json::json;

use super::key_set_fixture::{KeySetFixture, URL, key, token};

#[tokio::test]
async fn nothing_is_fetched_before_the_first_token() {
    let fixture = KeySetFixture::new(UrlTrust::Tenant);
    assert_eq!(fixture.fetches(), 0);
    let key = key("a");
    fixture.publish(&[&key]);
    assert_eq!(fixture.verify(&token(&key)).await, Ok(true));
    assert_eq!(
        fixture.documents.requests(),
        [(URL.to_owned(), UrlTrust::Tenant)]
    );
}

#[tokio::test]
async fn keys_are_kept_for_ten_minutes() {
    let (old, new) = (key("a"), key("b"));
    let fixture = KeySetFixture::fetched(&[&old]).await;
    fixture.publish(&[&new]);
    fixture.advance(599);
    assert_eq!(fixture.verify(&token(&old)).await, Ok(true));
    assert_eq!(fixture.fetches(), 1);
    fixture.advance(1);
    assert_eq!(fixture.verify(&token(&old)).await, Ok(false));
    assert_eq!(fixture.verify(&token(&new)).await, Ok(true));
    assert_eq!(fixture.fetches(), 2);
}

#[tokio::test]
async fn keys_are_fetched_again_even_if_the_time_of_day_is_set_back() {
    let (old, new) = (key("a"), key("b"));
    let fixture = KeySetFixture::fetched(&[&old]).await;
    fixture.publish(&[&new]);
    fixture.clock.run(Duration::from_mins(10));
    assert_eq!(fixture.verify(&token(&new)).await, Ok(true));
    assert_eq!(fixture.fetches(), 2);
}

#[tokio::test]
async fn an_unknown_key_is_fetched_thirty_seconds_after_the_last_attempt() {
    let (first, second, third) = (key("a"), key("b"), key("c"));
    let fixture = KeySetFixture::fetched(&[&first]).await;
    fixture.publish(&[&first, &second]);
    fixture.advance(29);
    assert_eq!(fixture.verify(&token(&second)).await, Ok(false));
    assert_eq!(fixture.fetches(), 1);
    fixture.advance(1);
    assert_eq!(fixture.verify(&token(&second)).await, Ok(true));
    assert_eq!(fixture.fetches(), 2);
    for _ in 0..10 {
        fixture.advance(2);
        assert_eq!(fixture.verify(&token(&third)).await, Ok(false));
    }
    assert_eq!(fixture.fetches(), 2);
    fixture.advance(10);
    assert_eq!(fixture.verify(&token(&third)).await, Ok(false));
    assert_eq!(fixture.fetches(), 3);
}

#[tokio::test]
async fn a_failed_fetch_counts_as_an_attempt() {
    let (known, unknown) = (key("a"), key("b"));
    let fixture = KeySetFixture::fetched(&[&known]).await;
    fixture.documents.unpublish_all();
    fixture.advance(30);
    assert_eq!(fixture.verify(&token(&unknown)).await, Ok(false));
    fixture.publish(&[&known, &unknown]);
    fixture.advance(29);
    assert_eq!(fixture.verify(&token(&unknown)).await, Ok(false));
    assert_eq!(fixture.fetches(), 2);
    fixture.advance(1);
    assert_eq!(fixture.verify(&token(&unknown)).await, Ok(true));
}

#[tokio::test]
async fn a_forged_signature_with_a_known_key_id_triggers_no_fetch() {
    let fixture = KeySetFixture::fetched(&[&key("a")]).await;
    fixture.advance(60);
    assert_eq!(fixture.verify(&token(&key("a"))).await, Ok(false));
    assert_eq!(fixture.fetches(), 1);
}

#[tokio::test]
async fn an_algorithm_that_is_not_allowed_triggers_no_fetch() {
    let fixture = KeySetFixture::fetched(&[&key("a")]).await;
    fixture.advance(60);
    let text = token(&key("b"));
    let token = UnverifiedToken::parse(&text).unwrap();
    let claims = fixture.keys.verify(&token, &[SignatureAlgorithm::EdDsa]);
    assert_eq!(claims.await, Ok(None));
    assert_eq!(fixture.fetches(), 1);
}

#[tokio::test]
async fn a_token_without_a_key_id_may_be_signed_by_a_new_key() {
    let (old, new) = (key("a").without_id(), key("b").without_id());
    let fixture = KeySetFixture::fetched(&[&old]).await;
    fixture.publish(&[&new]);
    fixture.advance(30);
    assert_eq!(fixture.verify(&token(&new)).await, Ok(true));
    assert_eq!(fixture.verify(&token(&old)).await, Ok(false));
    assert_eq!(fixture.fetches(), 2);
}

#[tokio::test]
async fn old_keys_remain_valid_for_a_day_while_their_owner_is_unavailable() {
    let key = key("a");
    let fixture = KeySetFixture::fetched(&[&key]).await;
    fixture.documents.unpublish_all();
    fixture.advance(600);
    assert_eq!(fixture.verify(&token(&key)).await, Ok(true));
    assert_eq!(fixture.fetches(), 2);
    fixture.advance(29);
    assert_eq!(fixture.verify(&token(&key)).await, Ok(true));
    assert_eq!(fixture.fetches(), 2);
    fixture.advance(1);
    assert_eq!(fixture.verify(&token(&key)).await, Ok(true));
    assert_eq!(fixture.fetches(), 3);
    fixture.advance(24 * 3_600 - 631);
    assert_eq!(fixture.verify(&token(&key)).await, Ok(true));
    fixture.advance(1);
    assert_eq!(fixture.verify(&token(&key)).await, Err(KeysUnavailable));
    fixture.publish(&[&key]);
    fixture.advance(30);
    assert_eq!(fixture.verify(&token(&key)).await, Ok(true));
}

#[tokio::test]
async fn verification_without_any_keys_returns_an_error() {
    let fixture = KeySetFixture::new(UrlTrust::Operator);
    let key = key("a");
    assert_eq!(fixture.verify(&token(&key)).await, Err(KeysUnavailable));
    fixture.publish(&[&key]);
    fixture.advance(29);
    assert_eq!(fixture.verify(&token(&key)).await, Err(KeysUnavailable));
    assert_eq!(fixture.fetches(), 1);
    fixture.advance(1);
    assert_eq!(fixture.verify(&token(&key)).await, Ok(true));
}

#[tokio::test]
async fn ten_keys_of_a_tenants_set_are_read_and_a_hundred_of_an_operators() {
    let signer = key("signer");
    for (trust, others, expected) in [
        (UrlTrust::Tenant, 9, true),
        (UrlTrust::Tenant, 10, false),
        (UrlTrust::Operator, 99, true),
        (UrlTrust::Operator, 100, false),
    ] {
        let fixture = KeySetFixture::new(trust);
        let keys = [vec![json!({}); others], vec![signer.public()]].concat();
        fixture.documents.publish(URL, json!({"keys": keys}));
        let outcome = fixture.verify(&token(&signer)).await;
        assert_eq!(outcome, Ok(expected), "{trust:?} {others}");
    }
}

#[tokio::test]
async fn an_invalid_key_set_does_not_replace_a_valid_one() {
    let key = key("a");
    let fixture = KeySetFixture::fetched(&[&key]).await;
    fixture
        .documents
        .publish(URL, json!({"error": "maintenance"}));
    fixture.advance(600);
    assert_eq!(fixture.verify(&token(&key)).await, Ok(true));
    fixture.documents.publish(URL, json!({"keys": []}));
    fixture.advance(30);
    assert_eq!(fixture.verify(&token(&key)).await, Ok(false));
}
