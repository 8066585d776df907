//! Key sets, and the fake web that they are fetched from.

use std::{sync::Arc, time::Duration};

use access::{
    jwt::{SignatureAlgorithm, UnverifiedToken},
    tokens::{KeyLocation, KeySet, KeySets, KeysUnavailable},
};
use ports::UrlTrust;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::{fake_web::FakeWeb, fixture::ManualClock, key_with_id::KeyWithId};

pub(super) const URL: &str = "https://id.example/keys";

/// A key set, and the web that it is fetched from.
pub(super) struct KeySetFixture {
    pub(super) documents: Arc<FakeWeb>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) keys: KeySet,
}

impl KeySetFixture {
    /// A key set that has not been fetched yet.
    pub(super) fn new(trust: UrlTrust) -> Self {
        let [fixture] = Self::several(trust);
        fixture
    }

    /// Key sets of one process in one web, none of them fetched yet.
    pub(super) fn several<const COUNT: usize>(trust: UrlTrust) -> [Self; COUNT] {
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
    pub(super) async fn fetched(keys: &[&KeyWithId]) -> Self {
        let fixture = Self::new(UrlTrust::Operator);
        fixture.publish(keys);
        assert_eq!(fixture.verify(&token(keys[0])).await, Ok(true));
        assert_eq!(fixture.fetches(), 1);
        fixture
    }

    pub(super) fn publish(&self, keys: &[&KeyWithId]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.public()).collect();
        self.documents.publish(URL, json!({"keys": keys}));
    }

    /// Returns whether the key set verifies a token.
    pub(super) async fn verify(&self, text: &str) -> Result<bool, KeysUnavailable> {
        let token = UnverifiedToken::parse(text).expect("a token");
        let claims = self.keys.verify(&token, SignatureAlgorithm::ALL).await?;
        Ok(claims.is_some())
    }

    pub(super) fn advance(&self, seconds: u64) {
        self.clock.forward(Duration::from_secs(seconds));
    }

    pub(super) fn fetches(&self) -> usize {
        self.documents.requests().len()
    }
}

pub(super) fn key(id: &str) -> KeyWithId {
    KeyWithId::new(SignatureAlgorithm::Es256, id)
}

pub(super) fn token(key: &KeyWithId) -> String {
    key.sign(&json!({}))
}
