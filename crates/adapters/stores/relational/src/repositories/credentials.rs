//! API keys and OAuth clients.

use std::future::Future;

use async_trait::async_trait;
use domain::{
    Credential, CredentialId, CredentialKind, IdempotencyEntry, Listed, Page, Seq, TenantId,
    Timestamp,
};
use ports::{
    CredentialRepository, Idempotent, NewProof, RepositoryError, Rows, ShowKey,
    write_store::{IdempotencyRow, is_within_retention},
};

use crate::store::Store;

/// The SQL on credentials, and on the state of the store that concerns them.
pub trait CredentialSql: Store {
    /// `CredentialRepository::insert_first_key`. Calls [`super::insert_first_key`] under a lock
    /// that excludes all other processes.
    fn insert_first_key(
        &self,
        key: &Credential,
        show: ShowKey,
    ) -> impl Future<Output = Result<bool, RepositoryError>> + Send;

    /// `CredentialRepository::has_ever_held_a_key`.
    fn has_ever_held_a_key(&self) -> impl Future<Output = Result<bool, RepositoryError>> + Send;

    /// `CredentialRepository::find`.
    fn find_credential(
        &self,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> impl Future<Output = Result<Option<Credential>, RepositoryError>> + Send;

    /// `CredentialRepository::list`.
    fn list_credentials(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        after: Option<Seq>,
        limit: usize,
    ) -> impl Future<Output = Result<Page<Listed<Credential>>, RepositoryError>> + Send;

    /// `CredentialRepository::touch`, for at least one use.
    fn touch_credentials(
        &self,
        used: &[(CredentialId, Timestamp)],
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;

    /// `CredentialRepository::access_version`.
    fn access_version(&self) -> impl Future<Output = Result<i64, RepositoryError>> + Send;

    /// Replaces the proof of a credential with another of the same kind, unless the credential is
    /// revoked, and returns the credential.
    fn rotate_credential(
        connection: &mut Self::Connection,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        proof: &NewProof,
    ) -> impl Future<Output = Result<Option<Credential>, RepositoryError>> + Send;

    /// Deletes an API key.
    fn delete_key(
        connection: &mut Self::Connection,
        id: &CredentialId,
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;

    /// Returns whether the store has ever contained a key.
    fn had_key(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<bool, RepositoryError>> + Send;
}

/// API keys and OAuth clients in a store.
pub struct Credentials<S>(pub S);

#[async_trait]
impl<S: CredentialSql> CredentialRepository for Credentials<S> {
    async fn insert_first_key(
        &self,
        key: &Credential,
        show: ShowKey,
    ) -> Result<bool, RepositoryError> {
        self.0.insert_first_key(key, show).await
    }

    async fn has_ever_held_a_key(&self) -> Result<bool, RepositoryError> {
        self.0.has_ever_held_a_key().await
    }

    async fn find(
        &self,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> Result<Option<Credential>, RepositoryError> {
        self.0.find_credential(kind, id).await
    }

    async fn list(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<Credential>>, RepositoryError> {
        self.0.list_credentials(kind, tenant, after, limit).await
    }

    async fn rotate(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        proof: &NewProof,
        idempotency: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Option<Credential>>, RepositoryError> {
        let (tenant, id) = (tenant.clone(), id.clone());
        let (proof, idempotency) = (proof.clone(), idempotency.cloned());
        self.0
            .transaction(move |connection| {
                Box::pin(async move {
                    let idempotency = idempotency.as_ref();
                    S::lock_tenant(connection, &tenant).await?;
                    if let Some(entry) = idempotency
                        && let Some(record) = S::find_record(connection, &tenant, entry).await?
                        && is_within_retention(&record, entry.created_at)
                    {
                        return Ok(Idempotent::Replayed(record));
                    }
                    let rotated =
                        S::rotate_credential(connection, kind, &tenant, &id, &proof).await?;
                    if rotated.is_some() {
                        let mut rows = Rows::default();
                        rows.state.raises_access_version = true;
                        let record = IdempotencyRow::without_turn(&tenant, idempotency);
                        rows.idempotency.extend(record);
                        S::write(connection, &rows).await?;
                    }
                    Ok(Idempotent::Applied(rotated))
                })
            })
            .await
    }

    async fn touch(&self, used: &[(CredentialId, Timestamp)]) -> Result<(), RepositoryError> {
        if used.is_empty() {
            return Ok(());
        }
        self.0.touch_credentials(used).await
    }

    async fn access_version(&self) -> Result<i64, RepositoryError> {
        self.0.access_version().await
    }
}
