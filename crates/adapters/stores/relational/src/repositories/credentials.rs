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

use super::{
    Repositories, idempotency,
    store_state::{ACCESS_VERSION, HAD_KEY},
    tenants,
};
use crate::{
    column::TextList,
    page_budget, parameters,
    read::{self, ListedRow, ReadAs},
    statements,
    store::Store,
    stored::{ProofColumns, StoredCredential, StoredRecord},
};

statements! {
    const DELETE_KEY: &str = "delete from credentials where id = $1 and kind = 'key'";
}

/// A row of a credential.
type StoredRow<S> = StoredCredential<<S as CredentialSql>::Texts>;

/// The SQL on credentials.
pub trait CredentialSql:
    Store<
    Row: ReadAs<StoredCredential<<Self as CredentialSql>::Texts>>
             + ReadAs<ListedRow<StoredCredential<<Self as CredentialSql>::Texts>>>
             + ReadAs<StoredRecord>
             + ReadAs<(bool,)>
             + ReadAs<(i64,)>,
>
{
    /// The type of columns that contain a list of texts.
    type Texts: TextList;

    statements! {
        /// The credential with id 1 and kind 2.
        const FIND: &'static str;

        /// The credentials of tenant 1 and kind 2 before position 3, newest first, at most 4.
        const LIST: &'static str;

        /// Replaces the secret of the credential with tenant 1, id 2 and kind 3, unless it is revoked,
        /// by the digest 4 with the last characters 5. The previous secret is valid until 6. Returns
        /// the credential.
        const ROTATE_SECRET: &'static str;

        /// Replaces its public keys by the set 4 or those at the address 5.
        const ROTATE_KEYS: &'static str;
    }

    /// `CredentialRepository::insert_first_key`. Calls [`super::insert_first_key`] under a lock
    /// that excludes all other processes.
    fn insert_first_key(
        &self,
        key: &Credential,
        show: ShowKey,
    ) -> impl Future<Output = Result<bool, RepositoryError>> + Send;

    /// `CredentialRepository::touch`, for at least one use.
    fn touch_credentials(
        &self,
        used: &[(CredentialId, Timestamp)],
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;
}

#[async_trait]
impl<S: CredentialSql> CredentialRepository for Repositories<S> {
    async fn insert_first_key(
        &self,
        key: &Credential,
        show: ShowKey,
    ) -> Result<bool, RepositoryError> {
        self.0.insert_first_key(key, show).await
    }

    async fn has_ever_held_a_key(&self) -> Result<bool, RepositoryError> {
        let found = self.0.fetch_optional(HAD_KEY, &[]).await?;
        read::value("store_state", found)
    }

    async fn find(
        &self,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> Result<Option<Credential>, RepositoryError> {
        let parameters = parameters![id, kind.as_str()];
        let found = self.0.fetch_optional(S::FIND, parameters).await?;
        read::one("credentials", found, |row: StoredRow<S>| row.try_into())
    }

    async fn list(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<Credential>>, RepositoryError> {
        let before = after.map_or(i64::MAX, |after| after.0);
        let one_more = page_budget::one_more(limit);
        let parameters = parameters![tenant, kind.as_str(), before, one_more];
        let rows = self.0.fetch_all(S::LIST, parameters).await?;
        let convert = |row: StoredRow<S>| row.try_into();
        read::listing("credentials", rows, limit, convert)
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
        let (proof, entry) = (proof.clone(), idempotency.cloned());
        self.0
            .transaction(move |connection| {
                Box::pin(async move {
                    let entry = entry.as_ref();
                    tenants::lock::<S>(connection, &tenant).await?;
                    if let Some(entry) = entry
                        && let Some(record) =
                            idempotency::find::<S>(connection, &tenant, entry).await?
                        && is_within_retention(&record, entry.created_at)
                    {
                        return Ok(Idempotent::Replayed(record));
                    }
                    let rotated = rotate::<S>(connection, kind, &tenant, &id, &proof).await?;
                    if rotated.is_some() {
                        let mut rows = Rows::default();
                        rows.state.raises_access_version = true;
                        let record = IdempotencyRow::without_turn(&tenant, entry);
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
        let found = self.0.fetch_own(ACCESS_VERSION, &[]).await?;
        read::value("store_state", found)
    }
}

/// Replaces the proof of a credential with another of the same kind, unless the credential is
/// revoked, and returns the credential.
async fn rotate<S: CredentialSql>(
    connection: &mut S::Connection,
    kind: CredentialKind,
    tenant: &TenantId,
    id: &CredentialId,
    proof: &NewProof,
) -> Result<Option<Credential>, RepositoryError> {
    let kind = kind.as_str();
    let rotated = match proof {
        NewProof::Secret {
            digest,
            last4,
            previous_until,
        } => {
            let (digest, last4) = (digest.bytes().as_slice(), last4.as_str());
            let parameters = parameters![tenant, id, kind, digest, last4, *previous_until];
            S::fetch_all_in(connection, S::ROTATE_SECRET, parameters).await?
        }
        NewProof::Keys(keys) => {
            let ProofColumns {
                key_set,
                key_set_url,
                ..
            } = keys.into();
            let parameters =
                parameters![tenant, id, kind, key_set.as_ref(), key_set_url.as_deref()];
            S::fetch_all_in(connection, S::ROTATE_KEYS, parameters).await?
        }
    };
    let rotated = rotated.into_iter().next();
    read::one("credentials", rotated, |row: StoredRow<S>| row.try_into())
}

/// Deletes an API key.
pub(super) async fn delete_key<S: Store>(
    connection: &mut S::Connection,
    id: &CredentialId,
) -> Result<(), RepositoryError> {
    S::execute_in(connection, DELETE_KEY, parameters![id]).await?;
    Ok(())
}
