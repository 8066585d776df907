//! Keys: make, list, take back.

use std::sync::Arc;

use domain::{
    Credential, CredentialId, CredentialKind, CredentialSecret, LimitOverrides, Scopes, TenantId,
    Timestamp,
    credential::{Proof, StoredSecret},
    credential_secret::RANDOM_BYTES,
};
use ports::{Clock, CredentialPosition, CredentialRepository, IdSource, RepositoryError};

/// Why a use case of keys was refused.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// There is no such key in the tenant.
    #[error("no such key")]
    NotFound,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// A key to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// Whose data it opens.
    pub tenant: TenantId,
    /// What people call it.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// A key that was just made: the only moment in which its secret exists in the clear.
#[derive(Debug)]
pub struct MintedKey {
    /// The key as it is stored.
    pub key: Credential,
    /// The whole value, to be shown once.
    pub secret: CredentialSecret,
}

/// Keys: make, list, take back.
pub struct KeyService {
    keys: Arc<dyn CredentialRepository>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl KeyService {
    /// A service over these ports.
    pub fn new(
        keys: Arc<dyn CredentialRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Self {
        Self { keys, clock, ids }
    }

    /// Makes a key.
    pub async fn create(&self, new: NewKey) -> Result<MintedKey, KeyError> {
        let secret = mint(&*self.ids);
        let key = described(&secret, new, self.clock.now());
        self.keys.insert(&key, None).await?;
        Ok(MintedKey { key, secret })
    }

    /// All keys of a tenant, newest first.
    pub async fn list_all(&self, tenant: &TenantId) -> Result<Vec<Credential>, KeyError> {
        let mut all: Vec<Credential> = Vec::new();
        loop {
            let after = all.last().map(|last| CredentialPosition {
                created_at: last.created_at,
                id: last.id.clone(),
            });
            let page = self
                .keys
                .list(
                    CredentialKind::Key,
                    tenant,
                    after.as_ref(),
                    crate::PAGE_LIMIT,
                )
                .await?;
            all.extend(page.items);
            if !page.has_more {
                return Ok(all);
            }
        }
    }

    /// Takes a key back.
    pub async fn revoke(&self, tenant: &TenantId, id: &CredentialId) -> Result<(), KeyError> {
        if self
            .keys
            .revoke(CredentialKind::Key, tenant, id, self.clock.now())
            .await?
        {
            Ok(())
        } else {
            Err(KeyError::NotFound)
        }
    }
}

/// A new key out of chance alone.
pub(super) fn mint(ids: &dyn IdSource) -> CredentialSecret {
    let mut random = [0; RANDOM_BYTES];
    ids.fill_random(&mut random);
    CredentialSecret::mint(CredentialKind::Key, &random)
}

/// A key as it is stored.
pub(super) fn described(secret: &CredentialSecret, new: NewKey, now: Timestamp) -> Credential {
    Credential {
        kind: CredentialKind::Key,
        id: secret.id(),
        tenant: new.tenant,
        name: new.name,
        scopes: new.scopes,
        proof: Proof::Secret(StoredSecret {
            digest: secret.digest(),
            last4: secret.last4().to_owned(),
            previous: None,
        }),
        created_at: now,
        expires_at: new.expires_at,
        last_used_at: None,
        revoked_at: None,
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
    }
}
