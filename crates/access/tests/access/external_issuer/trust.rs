//! Trusted issuers in a web of their own.

use std::{collections::BTreeMap, sync::Arc};

use access::{
    AccessError, AuthContext,
    jwt::{SignatureAlgorithm, UnverifiedToken},
    tokens::{ClaimPath, Issuer, Issuers, KeyLocation, KeySets, TenantOfUsers, TokenType},
};
use domain::{Scopes, TenantId};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::tenants_in_memory::TenantsInMemory;
use crate::{
    named_key::{self, NamedKey},
    web::Web,
    world::{BEGINNING, StandingClock},
};

/// The time at which tests begin, in seconds as in claims.
pub(crate) const NOW: i64 = BEGINNING.milliseconds() / 1_000;

/// The name of the issuer of most tests.
pub(crate) const MAIN: &str = "https://id.example";
/// The audience with which issuers identify this service.
pub(crate) const AUDIENCE: &str = "https://agents.example";

/// Trusted issuers, and a key of each.
pub(crate) struct Trust {
    pub(crate) documents: Arc<Web>,
    pub(crate) clock: Arc<StandingClock>,
    pub(crate) tenants: Arc<TenantsInMemory>,
    pub(crate) issuers: Issuers,
    keys: BTreeMap<String, NamedKey>,
}

impl Trust {
    /// Trust in these issuers, each with a key whose id is `a`.
    pub(crate) fn in_issuers(issuers: Vec<Issuer>) -> Self {
        let documents = Arc::<Web>::default();
        let clock = StandingClock::new();
        let tenants = Arc::new(TenantsInMemory::new(&["acme", "default"]));
        let mut keys = BTreeMap::new();
        for issuer in &issuers {
            let key = NamedKey::new(SignatureAlgorithm::Es256, "a");
            documents.publish(&keys_of(&issuer.name), json!({"keys": [key.public()]}));
            keys.insert(issuer.name.clone(), key);
        }
        let key_sets = KeySets::new(
            Arc::clone(&documents) as _,
            Arc::clone(&clock) as _,
            TaskTracker::new(),
            Handle::current(),
        );
        let issuers = Issuers::new(
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

    /// Trust in the main issuer, changed by `change`.
    pub(crate) fn in_main(change: impl FnOnce(&mut Issuer)) -> Self {
        let mut main = issuer("main", MAIN);
        change(&mut main);
        Self::in_issuers(vec![main])
    }

    /// The key of an issuer.
    pub(crate) fn key(&self, issuer: &str) -> &NamedKey {
        &self.keys[issuer]
    }

    /// Verifies a token.
    pub(crate) async fn enter(&self, text: &str) -> Result<AuthContext, AccessError> {
        let token = UnverifiedToken::read(text).expect("a token of the right form");
        self.issuers.verify(&token).await
    }

    /// Verifies a token of the main issuer with the usual claims and these changes.
    pub(crate) async fn enter_with(&self, changes: &Value) -> Result<AuthContext, AccessError> {
        self.enter(&self.key(MAIN).sign(&claims(changes))).await
    }
}

/// An issuer with the usual configuration.
pub(crate) fn issuer(id: &str, name: &str) -> Issuer {
    Issuer {
        id: id.parse().expect("an id"),
        name: name.to_owned(),
        audiences: vec![AUDIENCE.to_owned()],
        keys: KeyLocation::Url(keys_of(name)),
        algorithms: SignatureAlgorithm::ALL.to_vec(),
        token_type: TokenType::AccessToken,
        tenant: TenantOfUsers::Fixed(tenant("default")),
        scope_claims: vec![path("scope"), path("scp")],
        role_scopes: BTreeMap::<String, Scopes>::new(),
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
    named_key::changed(usual, changes)
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
