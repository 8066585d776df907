//! Trusted issuers in a web of their own.

use std::{collections::BTreeMap, sync::Arc};

use access::{
    AccessError, AuthContext,
    jwt::{SignatureAlgorithm, UnverifiedToken},
    tokens::{
        ClaimPath, ExternalIssuers, IssuerConfig, KeyLocation, KeySets, TenantSource, TokenType,
    },
};
use domain::{Scopes, TenantId};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::memory_tenants::MemoryTenants;
use crate::{
    fake_web::FakeWeb,
    fixture::{ManualClock, START},
    key_with_id::{self, KeyWithId},
};

/// The time at which tests begin, in seconds as in claims.
pub(crate) const NOW: i64 = START.milliseconds() / 1_000;

/// The name of the issuer of most tests.
pub(crate) const MAIN: &str = "https://id.example";
/// The audience with which issuers identify this service.
pub(crate) const AUDIENCE: &str = "https://agents.example";

/// Trusted issuers, and a key of each.
pub(crate) struct IssuerFixture {
    pub(crate) documents: Arc<FakeWeb>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) tenants: Arc<MemoryTenants>,
    pub(crate) issuers: ExternalIssuers,
    keys: BTreeMap<String, KeyWithId>,
}

impl IssuerFixture {
    /// These issuers, each with a key whose id is `a`.
    pub(crate) fn new(issuers: Vec<IssuerConfig>) -> Self {
        let documents = Arc::<FakeWeb>::default();
        let clock = ManualClock::new();
        let tenants = Arc::new(MemoryTenants::new(&["acme", "default"]));
        let mut keys = BTreeMap::new();
        for issuer in &issuers {
            let key = KeyWithId::new(SignatureAlgorithm::Es256, "a");
            documents.publish(&keys_of(&issuer.name), json!({"keys": [key.public()]}));
            keys.insert(issuer.name.clone(), key);
        }
        let key_sets = KeySets::new(
            Arc::clone(&documents) as _,
            Arc::clone(&clock) as _,
            TaskTracker::new(),
            Handle::current(),
        );
        let issuers = ExternalIssuers::new(
            issuers,
            &key_sets,
            Arc::clone(&tenants) as _,
            Arc::clone(&clock) as _,
        );
        Self {
            documents,
            clock,
            tenants,
            issuers,
            keys,
        }
    }

    /// The main issuer, changed by `change`.
    pub(crate) fn main(change: impl FnOnce(&mut IssuerConfig)) -> Self {
        let mut main = issuer("main", MAIN);
        change(&mut main);
        Self::new(vec![main])
    }

    /// The key of an issuer.
    pub(crate) fn key(&self, issuer: &str) -> &KeyWithId {
        &self.keys[issuer]
    }

    /// Verifies a token.
    pub(crate) async fn authenticate(&self, text: &str) -> Result<AuthContext, AccessError> {
        let token = UnverifiedToken::parse(text).expect("a token of the right form");
        self.issuers.authenticate(&token).await
    }

    /// Verifies a token of the main issuer with the usual claims and these changes.
    pub(crate) async fn authenticate_claims(
        &self,
        changes: &Value,
    ) -> Result<AuthContext, AccessError> {
        self.authenticate(&self.key(MAIN).sign(&claims(changes)))
            .await
    }
}

/// An issuer with the usual configuration.
pub(crate) fn issuer(id: &str, name: &str) -> IssuerConfig {
    IssuerConfig {
        id: id.parse().expect("an id"),
        name: name.to_owned(),
        audiences: vec![AUDIENCE.to_owned()],
        audience_claim: None,
        keys: KeyLocation::Url(keys_of(name)),
        algorithms: SignatureAlgorithm::ALL.to_vec(),
        token_type: TokenType::AccessToken,
        tenant: TenantSource::Fixed(tenant("default")),
        scope_claims: vec![path("scope"), path("scp")],
        role_scopes: BTreeMap::<String, Scopes>::new(),
        agents: domain::AgentReach::ALL,
    }
}

/// The URL of an issuer's keys.
pub(crate) fn keys_of(issuer: &str) -> String {
    format!("{issuer}/keys")
}

/// The usual claims of the main issuer with these changes. `null` removes a claim.
pub(crate) fn claims(changes: &Value) -> Value {
    let usual = json!({
        "iss": MAIN,
        "aud": AUDIENCE,
        "sub": "ada",
        "exp": NOW + 600,
        "iat": NOW,
        "scope": "agents:read chat:write",
    });
    key_with_id::changed(usual, changes)
}

pub(crate) fn path(text: &str) -> ClaimPath {
    text.parse().expect("text of the right form")
}

pub(crate) fn tenant(text: &str) -> TenantId {
    text.parse().expect("text of the right form")
}

pub(crate) fn is_invalid(outcome: &Result<AuthContext, AccessError>) -> bool {
    matches!(outcome, Err(AccessError::Invalid))
}
