//! A credential service, and two processes that authenticate its credentials.

use std::sync::Arc;

use access::{
    AccessError, AuthContext, Authenticator, CredentialError, CredentialService, LastUsed,
    MintedCredential, PresentedCredential, Rotation, operator,
    tokens::{AccessTokens, Issuers, KeySets},
};
use domain::{
    CredentialDraft, CredentialKind, CredentialSecret, Principal, PrincipalId, Scope, Scopes,
    TenantId,
};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::{node::Node, world::World};

/// The maximum number of characters of a name.
const NAME_CHARACTERS: u32 = 128;

/// A credential service, and two processes that authenticate its credentials.
pub(crate) struct Desk {
    pub(crate) world: World,
    pub(crate) service: CredentialService,
    /// The authenticator in the process of the service.
    pub(crate) here: Arc<Authenticator>,
    /// The authenticator in another process over the same store.
    pub(crate) elsewhere: Arc<Authenticator>,
    pub(crate) last_used: Arc<LastUsed>,
}

impl Desk {
    pub(crate) async fn open() -> Self {
        Self::open_in(World::new().await).await
    }

    /// Creates the service in an existing world.
    pub(crate) async fn open_in(world: World) -> Self {
        let last_used = Arc::new(LastUsed::new(Arc::clone(&world.storage.credentials)));
        let here = authenticator(&world, &last_used).await;
        let elsewhere = authenticator(&world, &last_used).await;
        let service = CredentialService::new(
            Arc::clone(&world.storage.credentials),
            Arc::clone(&world.storage.claims),
            world.clock.clone(),
            world.ids.clone(),
            NAME_CHARACTERS,
        );
        Self {
            service: service.beside(Arc::clone(&here)),
            world,
            here,
            elsewhere,
            last_used,
        }
    }

    /// Creates a key with these scopes, as the operator.
    pub(crate) async fn key(&self, scopes: &[Scope]) -> MintedCredential {
        self.make(CredentialKind::Key, draft(scopes)).await
    }

    /// Creates a credential from a draft, as the operator.
    pub(crate) async fn make(
        &self,
        kind: CredentialKind,
        draft: CredentialDraft,
    ) -> MintedCredential {
        let operator = operator(tenant());
        let made = self.service.create(&operator, kind, draft, None);
        made.await.expect("the operator may do everything").value
    }

    /// Rotates a key, as the operator, and returns the new secret.
    pub(crate) async fn rotate(
        &self,
        key: &MintedCredential,
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
    pub(crate) async fn lets_in(&self, secret: &CredentialSecret) -> bool {
        is_let_in(enter(&self.here, secret).await)
    }

    /// Returns whether the other process accepts a secret.
    pub(crate) async fn lets_in_elsewhere(&self, secret: &CredentialSecret) -> bool {
        is_let_in(enter(&self.elsewhere, secret).await)
    }
}

async fn authenticator(world: &World, last_used: &Arc<LastUsed>) -> Arc<Authenticator> {
    let node = Node::start(world).await;
    let key_sets = KeySets::new(
        world.web.clone(),
        world.clock.clone(),
        TaskTracker::new(),
        Handle::current(),
    );
    let tenants = Arc::clone(&world.storage.tenants);
    let nobody = Issuers::new(Vec::new(), &key_sets, tenants, world.clock.clone());
    let authenticator = Authenticator::new(
        Arc::clone(&world.storage.credentials),
        Arc::new(AccessTokens::new(node.tokens, nobody)),
        world.clock.clone(),
        Arc::clone(last_used),
    );
    authenticator.watch().await.expect("a store");
    Arc::new(authenticator)
}

/// Authenticates a secret as the API does: from the cache if possible.
async fn enter(
    authenticator: &Authenticator,
    secret: &CredentialSecret,
) -> Result<Arc<AuthContext>, AccessError> {
    let credential = PresentedCredential::new(secret.reveal());
    match authenticator.recognise(&credential) {
        Some(entrant) => Ok(entrant),
        None => authenticator.authenticate(&credential).await,
    }
}

fn is_let_in(outcome: Result<Arc<AuthContext>, AccessError>) -> bool {
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
