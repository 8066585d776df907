//! The first key of a store.

use std::sync::Arc;

use domain::{CredentialDraft, CredentialKind, CredentialSecret, Scopes, TenantId};
use ports::{Clock, CredentialRepository, IdSource, RepositoryError, ShowKey};

use crate::credentials::{generate_secret, stored_secret};

/// The source of the first key.
#[derive(Debug, Clone)]
pub enum FirstKey {
    /// The operator configured it.
    Configured(CredentialSecret),
    /// The service generates it and shows it once.
    Generated,
}

impl FirstKey {
    /// Stores the first key, with all scopes, if the store has never held a key. A generated key is
    /// passed to `show` once it is stored; `show` returns whether the operator can read it.
    pub async fn apply(
        &self,
        credentials: &Arc<dyn CredentialRepository>,
        clock: &Arc<dyn Clock>,
        ids: &Arc<dyn IdSource>,
        tenant: TenantId,
        show: impl FnOnce(&CredentialSecret) -> bool + Send + 'static,
    ) -> Result<(), RepositoryError> {
        let (secret, show): (_, ShowKey) = match self {
            Self::Configured(secret) => (secret.clone(), Box::new(|| true)),
            Self::Generated => {
                let generated = generate_secret(&**ids, CredentialKind::Key);
                let shown = generated.clone();
                (generated, Box::new(move || show(&shown)))
            }
        };
        let key = CredentialDraft::new("bootstrap", Scopes::all()).into_credential(
            CredentialKind::Key,
            secret.id(),
            tenant,
            stored_secret(&secret),
            clock.now(),
        );
        credentials.insert_first_key(&key, show).await?;
        Ok(())
    }
}
