//! The first key of a store.

use std::sync::Arc;

use domain::{CredentialDraft, CredentialKind, CredentialSecret, Scopes, TenantId};
use ports::{Clock, CredentialRepository, IdSource, RepositoryError};

use super::credentials::{minted, with_secret};

/// Where the first key comes from.
#[derive(Debug, Clone)]
pub enum Bootstrap {
    /// The operator chose it.
    Given(CredentialSecret),
    /// It is minted and shown once.
    Mint,
}

impl Bootstrap {
    /// Writes the first key, with all scopes, if the store has never held one. Answers the minted
    /// key, for its one showing; a given one is known to who gave it.
    pub async fn apply(
        &self,
        credentials: &Arc<dyn CredentialRepository>,
        clock: &Arc<dyn Clock>,
        ids: &Arc<dyn IdSource>,
        tenant: TenantId,
    ) -> Result<Option<CredentialSecret>, RepositoryError> {
        let (secret, shown) = match self {
            Self::Given(secret) => (secret.clone(), None),
            Self::Mint => {
                let minted = minted(&**ids, CredentialKind::Key);
                (minted.clone(), Some(minted))
            }
        };
        let key = CredentialDraft::new("bootstrap", Scopes::all()).into_credential(
            CredentialKind::Key,
            secret.id(),
            tenant,
            with_secret(&secret),
            clock.now(),
        );
        let written = credentials.insert_first_key(&key).await?;
        Ok(shown.filter(|_| written))
    }
}
