//! The lifetime of cached keys, and the times at which they are fetched.

use std::{pin::pin, sync::Arc, task::Poll, time::Duration};

use access::{
    jwt::{SignatureAlgorithm, UnverifiedToken},
    tokens::{KeyLocation, KeySet, KeySets, KeysUnavailable},
};
use futures::{future::join_all, poll};
use ports::UrlTrust;
use serde_json::{Value, json};
use tokio::{runtime::Handle, time::Instant};
use tokio_util::task::TaskTracker;

use crate::{fake_web::FakeWeb, fixture::ManualClock, key_with_id::KeyWithId};

const URL: &str = "https://id.example/keys";

/// A key set, and the web that it is fetched from.
struct KeySetFixture {
    documents: Arc<FakeWeb>,
    clock: Arc<ManualClock>,
    keys: KeySet,
}

impl KeySetFixture {
    /// A key set that has not been fetched yet.
    fn new(trust: UrlTrust) -> Self {
        let [fixture] = Self::several(trust);
        fixture
    }

    /// Key sets of one process in one web, none of them fetched yet.
    fn several<const COUNT: usize>(trust: UrlTrust) -> [Self; COUNT] {
        let (documents, clock) = (Arc::<FakeWeb>::default(), ManualClock::new());
        let key_sets = KeySets::new(
            Arc::clone(&documents) as _,
            Arc::clone(&clock) as _,
            TaskTracker::new(),
            Handle::current(),
        );
        std::array::from_fn(|_| Self {
            documents: Arc::clone(&documents),
            clock: Arc::clone(&clock),
            keys: key_sets.at(KeyLocation::Url(URL.to_owned()), trust),
        })
    }

    /// A key set with these keys that has just been fetched.
    async fn fetched(keys: &[&KeyWithId]) -> Self {
        let fixture = Self::new(UrlTrust::Operator);
        fixture.publish(keys);
        assert_eq!(fixture.verify(&token(keys[0])).await, Ok(true));
        assert_eq!(fixture.fetches(), 1);
        fixture
    }

    fn publish(&self, keys: &[&KeyWithId]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.public()).collect();
        self.documents.publish(URL, json!({"keys": keys}));
    }

    /// Returns whether the key set verifies a token.
    async fn verify(&self, text: &str) -> Result<bool, KeysUnavailable> {
        let token = UnverifiedToken::parse(text).expect("a token");
        let claims = self.keys.verify(&token, SignatureAlgorithm::ALL).await?;
        Ok(claims.is_some())
    }

    fn advance(&self, seconds: u64) {
        self.clock.forward(Duration::from_secs(seconds));
    }

    fn fetches(&self) -> usize {
        self.documents.requests().len()
    }
}

fn key(id: &str) -> KeyWithId {
    KeyWithId::new(SignatureAlgorithm::Es256, id)
}

fn token(key: &KeyWithId) -> String {
    key.sign(&json!({}))
}

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
async fn one_fetch_serves_all_waiters() {
    let fixture = KeySetFixture::new(UrlTrust::Operator);
    let key = key("a");
    fixture.publish(&[&key]);
    fixture.documents.set_paused(true);
    let text = token(&key);
    let mut all = pin!(join_all((0..64).map(|_| fixture.verify(&text))));
    assert!(poll!(all.as_mut()).is_pending());
    fixture.documents.set_paused(false);
    assert_eq!(all.await, vec![Ok(true); 64]);
    assert_eq!(fixture.fetches(), 1);
}

#[tokio::test]
async fn a_slow_fetch_remains_the_only_one() {
    let fixture = KeySetFixture::new(UrlTrust::Operator);
    let key = key("a");
    fixture.publish(&[&key]);
    fixture.documents.set_paused(true);
    let text = token(&key);
    let mut first = pin!(fixture.verify(&text));
    assert!(poll!(first.as_mut()).is_pending());
    fixture.advance(30);
    let mut second = pin!(fixture.verify(&text));
    assert!(poll!(second.as_mut()).is_pending());
    fixture.documents.set_paused(false);
    assert_eq!((first.await, second.await), (Ok(true), Ok(true)));
    assert_eq!(fixture.fetches(), 1);
}

#[tokio::test]
async fn a_fetch_continues_when_its_caller_is_dropped() {
    let fixture = KeySetFixture::new(UrlTrust::Operator);
    let key = key("a");
    fixture.publish(&[&key]);
    fixture.documents.set_paused(true);
    let text = token(&key);
    {
        let mut abandoned = pin!(fixture.verify(&text));
        assert!(poll!(abandoned.as_mut()).is_pending());
    }
    fixture.documents.set_paused(false);
    assert_eq!(fixture.verify(&text).await, Ok(true));
    assert_eq!(fixture.fetches(), 1);
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

#[tokio::test(start_paused = true)]
async fn a_refresh_without_a_response_delays_one_caller_by_a_second() {
    let (old, new) = (key("a"), key("b"));
    let fixture = KeySetFixture::fetched(&[&old]).await;
    fixture.publish(&[&new]);
    fixture.documents.set_paused(true);
    fixture.advance(600);
    let begun = Instant::now();
    assert_eq!(fixture.verify(&token(&old)).await, Ok(true));
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    for _ in 0..10 {
        fixture.advance(10);
        assert_eq!(fixture.verify(&token(&old)).await, Ok(true));
    }
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    assert_eq!(fixture.fetches(), 2);
    // The verification with an unknown key waits for the fetch that is under way.
    let text = token(&new);
    let mut waiting = pin!(fixture.verify(&text));
    assert!(poll!(waiting.as_mut()).is_pending());
    fixture.documents.set_paused(false);
    assert_eq!(waiting.await, Ok(true));
    assert_eq!(fixture.fetches(), 2);
    assert_eq!(fixture.verify(&token(&old)).await, Ok(false));
}

#[tokio::test(start_paused = true)]
async fn a_fetch_without_a_response_delays_no_caller_beyond_two_seconds() {
    let (known, unknown) = (key("a"), key("b"));
    let fixture = KeySetFixture::new(UrlTrust::Operator);
    fixture.documents.set_paused(true);
    let two_seconds = Duration::from_secs(2);
    let begun = Instant::now();
    assert_eq!(fixture.verify(&token(&known)).await, Err(KeysUnavailable));
    assert_eq!(begun.elapsed(), two_seconds);
    assert_eq!(fixture.verify(&token(&known)).await, Err(KeysUnavailable));
    assert_eq!(begun.elapsed(), two_seconds * 2);
    // The fetch has continued all the time.
    fixture.publish(&[&known]);
    fixture.documents.set_paused(false);
    assert_eq!(fixture.verify(&token(&known)).await, Ok(true));
    assert_eq!(fixture.fetches(), 1);
    fixture.documents.set_paused(true);
    fixture.advance(30);
    let begun = Instant::now();
    assert_eq!(fixture.verify(&token(&unknown)).await, Ok(false));
    assert_eq!(begun.elapsed(), two_seconds);
    assert_eq!(fixture.verify(&token(&known)).await, Ok(true));
    assert_eq!(begun.elapsed(), two_seconds);
    assert_eq!(fixture.fetches(), 2);
}

#[tokio::test]
async fn sixteen_key_sets_of_tenants_and_any_number_of_operators_are_fetched_at_once() {
    let key = key("a");
    let text = token(&key);
    for (trust, most) in [(UrlTrust::Tenant, 16), (UrlTrust::Operator, 17)] {
        let fixture = KeySetFixture::several::<17>(trust);
        let documents = &fixture[0].documents;
        fixture[0].publish(&[&key]);
        documents.set_paused(true);
        let mut first = pin!(join_all(fixture[..16].iter().map(|one| one.verify(&text))));
        assert!(poll!(first.as_mut()).is_pending());
        let mut last = pin!(fixture[16].verify(&text));
        let refused = poll!(last.as_mut());
        let is_refused = matches!(refused, Poll::Ready(Err(KeysUnavailable)));
        assert_eq!((is_refused, refused.is_pending()), (most == 16, most == 17));
        documents.set_paused(false);
        assert_eq!(first.await, vec![Ok(true); 16]);
        // The refusal did not count as an attempt, so the next fetch starts at once.
        assert_eq!(fixture[16].verify(&text).await, Ok(true));
        assert_eq!(documents.requests().len(), 17);
    }
}

#[tokio::test]
async fn keys_in_memory_remain_valid_while_no_key_set_of_a_tenant_can_be_fetched() {
    let (known, unknown) = (key("a"), key("b"));
    let fixture = KeySetFixture::several::<17>(UrlTrust::Tenant);
    fixture[0].publish(&[&known, &unknown]);
    let text = token(&known);
    assert_eq!(fixture[16].verify(&text).await, Ok(true));
    fixture[0].advance(600);
    fixture[0].documents.set_paused(true);
    let mut others = pin!(join_all(fixture[..16].iter().map(|one| one.verify(&text))));
    assert!(poll!(others.as_mut()).is_pending());
    assert_eq!(fixture[16].verify(&text).await, Ok(true));
    let other = token(&key("c"));
    assert_eq!(fixture[16].verify(&other).await, Err(KeysUnavailable));
    fixture[0].documents.set_paused(false);
    others.await;
}
