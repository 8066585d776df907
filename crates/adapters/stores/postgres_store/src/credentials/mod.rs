//! API keys and OAuth clients.

mod statements;

use domain::{Credential, CredentialId, CredentialKind, Listed, Page, Seq, TenantId, Timestamp};
use ports::{NewProof, RepositoryError, ShowKey};
use relational::{
    Store as _, page_budget, read,
    repositories::{self, CredentialSql},
    stored::{ProofColumns, StoredCredential},
};
use sqlx::PgConnection;

use crate::{
    PostgresStore,
    error::{from_sqlx, in_table},
    store_state,
};

pub(crate) use statements::STATEMENTS;
use statements::{DELETE_KEY, FIND, LIST, LOCK_FIRST_KEY, ROTATE_KEYS, ROTATE_SECRET, TOUCH};

/// A row of `credentials`.
type CredentialRow = StoredCredential<Vec<String>>;

impl CredentialSql for PostgresStore {
    async fn insert_first_key(
        &self,
        key: &Credential,
        show: ShowKey,
    ) -> Result<bool, RepositoryError> {
        let (store, key) = (self.clone(), key.clone());
        self.transaction(move |connection| {
            Box::pin(async move {
                // Other processes wait until the key is recorded or deleted, or until the
                // connection of a process that ended is closed. The steps commit on another
                // connection.
                let locked = sqlx::query(LOCK_FIRST_KEY).execute(connection).await;
                locked.map_err(from_sqlx)?;
                repositories::insert_first_key(&store, &key, show).await
            })
        })
        .await
    }

    async fn has_ever_held_a_key(&self) -> Result<bool, RepositoryError> {
        self.connections
            .run(|connection| Box::pin(store_state::had_key(connection)))
            .await
    }

    async fn find_credential(
        &self,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> Result<Option<Credential>, RepositoryError> {
        let find = sqlx::query(FIND).bind(id.as_str()).bind(kind.as_str());
        let row = self.connections.fetch_optional(find).await?;
        read::one("credentials", row, |row: CredentialRow| row.try_into())
    }

    async fn list_credentials(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<Credential>>, RepositoryError> {
        let list = sqlx::query(LIST)
            .bind(tenant.as_str())
            .bind(kind.as_str())
            .bind(after.map_or(i64::MAX, |after| after.0))
            .bind(page_budget::one_more(limit));
        let rows = self.connections.fetch_all(list).await?;
        read::listing("credentials", rows, limit, |row: CredentialRow| {
            row.try_into()
        })
    }

    async fn touch_credentials(
        &self,
        used: &[(CredentialId, Timestamp)],
    ) -> Result<(), RepositoryError> {
        let (ids, times): (Vec<_>, Vec<_>) = used
            .iter()
            .map(|(id, at)| (id.to_string(), at.date_time()))
            .unzip();
        let touch = sqlx::query(TOUCH).bind(ids).bind(times);
        self.execute(touch, from_sqlx).await.map(drop)
    }

    async fn access_version(&self) -> Result<i64, RepositoryError> {
        store_state::access_version(self).await
    }

    async fn rotate_credential(
        connection: &mut PgConnection,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        proof: &NewProof,
    ) -> Result<Option<Credential>, RepositoryError> {
        let statement = match proof {
            NewProof::Secret { .. } => ROTATE_SECRET,
            NewProof::Keys(_) => ROTATE_KEYS,
        };
        let rotation = sqlx::query_as(statement)
            .bind(tenant.as_str())
            .bind(id.as_str())
            .bind(kind.as_str());
        let rotation = match proof {
            NewProof::Secret {
                digest,
                last4,
                previous_until,
            } => rotation
                .bind(digest.bytes().as_slice())
                .bind(last4)
                .bind(previous_until.map(Timestamp::date_time)),
            NewProof::Keys(keys) => {
                let columns = ProofColumns::from(keys);
                rotation.bind(columns.key_set).bind(columns.key_set_url)
            }
        };
        let row: Option<CredentialRow> = rotation
            .fetch_optional(connection)
            .await
            .map_err(in_table("credentials"))?;
        row.map(Credential::try_from).transpose()
    }

    async fn delete_key(
        connection: &mut PgConnection,
        id: &CredentialId,
    ) -> Result<(), RepositoryError> {
        let delete = sqlx::query(DELETE_KEY).bind(id.as_str());
        let deleted = delete.execute(connection).await;
        deleted.map(drop).map_err(from_sqlx)
    }

    async fn had_key(connection: &mut PgConnection) -> Result<bool, RepositoryError> {
        store_state::had_key(connection).await
    }
}
