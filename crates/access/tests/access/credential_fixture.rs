//! A credential service, and two processes that authenticate its credentials.

use std::sync::Arc;

use access::{
    AccessError, AuthContext, Authenticator, CredentialError, CredentialService, IssuedCredential,
    LastUseRecorder, PresentedCredential, Rotation, operator,
    tokens::{AccessTokens, ExternalIssuers, KeySets},
};
use domain::{
    CredentialDraft, CredentialKind, CredentialSecret, Principal, PrincipalId, Scope, Scopes,
    TenantId,
};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::{fake_web::FakeWeb, fixture::Fixture, node::Node};

/// The maximum number of characters of a name.
const NAME_CHARACTERS: u32 = 128;

/// A credential service, and two processes that authenticate its credentials.
pub(crate) struct CredentialFixture {
    pub(crate) base: Fixture,
    pub(crate) service: CredentialService,
    /// The authenticator in the process of the service.
    pub(crate) local: Arc<Authenticator>,
    /// The authenticator in another process over the same store.
    pub(crate) remote: Arc<Authenticator>,
    pub(crate) last_used: Arc<LastUseRecorder>,
}

impl CredentialFixture {
    pub(crate) async fn new() -> Self {
        Self::over(Fixture::new().await).await
    }

    /// Creates the service over an existing fixture.
    pub(crate) async fn over(fixture: Fixture) -> Self {
        let last_used = Arc::new(LastUseRecorder::new(Arc::clone(
            &fixture.storage.credentials,
        )));
        let local = authenticator(&fixture, &last_used).await;
        let remote = authenticator(&fixture, &last_used).await;
        let service = CredentialService::new(
            Arc::clone(&fixture.storage.credentials),
            fixture.writes.clone(),
            Arc::clone(&fixture.storage.idempotency),
            fixture.clock.clone(),
            fixture.ids.clone(),
            Arc::new(FakeWeb::default()),
            NAME_CHARACTERS,
        );
        Self {
            service: service.with_authenticator(Arc::clone(&local)),
            base: fixture,
            local,
            remote,
            last_used,
        }
    }

    /// Creates a key with these scopes, as the operator.
    pub(crate) async fn key(&self, scopes: &[Scope]) -> IssuedCredential {
        self.create(CredentialKind::Key, draft(scopes)).await
    }

    /// Creates a credential from a draft, as the operator.
    pub(crate) async fn create(
        &self,
        kind: CredentialKind,
        draft: CredentialDraft,
    ) -> IssuedCredential {
        let operator = operator(tenant());
        let created = self.service.create(&operator, kind, draft, None);
        created.await.expect("the operator may do everything").value
    }

    /// Rotates a key, as the operator, and returns the new secret.
    pub(crate) async fn rotate(
        &self,
        key: &IssuedCredential,
        overlap_seconds: Option<u32>,
    ) -> Result<CredentialSecret, CredentialError> {
        let rotation = Rotation {
            overlap_seconds,
            jwks: None,
        };
        let (kind, id) = (key.credential.kind, &key.credential.id);
        let rotated = self
            .service
            .rotate(&operator(tenant()), kind, id, rotation, None)
            .await?
            .value;
        assert_eq!(&rotated.credential.id, id);
        Ok(rotated.secret.expect("a new secret"))
    }

    /// Returns whether this process accepts a secret.
    pub(crate) async fn is_accepted_locally(&self, secret: &CredentialSecret) -> bool {
        succeeded(authenticate(&self.local, secret).await)
    }

    /// Returns whether the other process accepts a secret.
    pub(crate) async fn is_accepted_remotely(&self, secret: &CredentialSecret) -> bool {
        succeeded(authenticate(&self.remote, secret).await)
    }
}

async fn authenticator(fixture: &Fixture, last_used: &Arc<LastUseRecorder>) -> Arc<Authenticator> {
    let node = Node::start(fixture).await;
    let key_sets = KeySets::new(
        fixture.web.clone(),
        fixture.clock.clone(),
        TaskTracker::new(),
        Handle::current(),
    );
    let tenants = Arc::clone(&fixture.storage.tenants);
    let external = ExternalIssuers::new(Vec::new(), &key_sets, tenants, fixture.clock.clone());
    let authenticator = Authenticator::new(
        Arc::clone(&fixture.storage.credentials),
        Arc::new(AccessTokens::new(node.tokens, external)),
        fixture.clock.clone(),
        Arc::clone(last_used),
    );
    authenticator.refresh().await.expect("a store");
    Arc::new(authenticator)
}

/// Authenticates a secret as the API does: from the cache if possible.
async fn authenticate(
    authenticator: &Authenticator,
    secret: &CredentialSecret,
) -> Result<Arc<AuthContext>, AccessError> {
    let credential = PresentedCredential::new(secret.reveal());
    match authenticator.authenticate_cached(&credential) {
        Some(auth_context) => Ok(auth_context),
        None => authenticator.authenticate(&credential).await,
    }
}

fn succeeded(outcome: Result<Arc<AuthContext>, AccessError>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(AccessError::Invalid) => false,
        Err(error) => panic!("{error:?}"),
    }
}

/// The tenant of every test.
pub(crate) fn tenant() -> TenantId {
    TenantId::DEFAULT.parse().expect("the id of a tenant")
}

/// A draft of a key or client with these scopes.
pub(crate) fn draft(scopes: &[Scope]) -> CredentialDraft {
    CredentialDraft::new("a test's", set(scopes))
}

pub(crate) fn set(scopes: &[Scope]) -> Scopes {
    scopes.iter().copied().collect()
}

/// A principal with these scopes that is identified by a key.
pub(crate) fn holder(scopes: &[Scope]) -> Principal {
    Principal {
        tenant: tenant(),
        id: PrincipalId::new("key:000000000000"),
        scopes: set(scopes),
        user_id: None,
        agents: domain::AgentReach::ALL,
        names_user: false,
    }
}

/// A user of an external issuer with these scopes.
pub(crate) fn user(scopes: &[Scope]) -> Principal {
    Principal {
        id: PrincipalId::new("main~ada"),
        user_id: Some("main~ada".to_owned()),
        ..holder(scopes)
    }
}
