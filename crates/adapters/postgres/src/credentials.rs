//! API keys and OAuth clients.

use domain::{
    Credential, CredentialId, CredentialKind, Listed, Page, Scope, Seq, TenantId, Timestamp,
};
use ports::{NewProof, RepositoryError, ShowKey};
use relational::{
    Store as _, credential_columns, page_budget, read,
    repositories::{self, CredentialSql},
    stored::{ProofColumns, StoredCredential},
};
use sqlx::{PgConnection, types::Json};

use crate::{
    PostgresStore,
    error::{conflict_on, from_sqlx, in_table},
    store_state,
};

/// A row of `credentials`.
type CredentialRow = StoredCredential<Vec<String>>;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select ",
            credential_columns!(),
            " from credentials ",
            $rest
        )
    };
}

/// One credential of a tenant. `is not distinct from` makes the tenant a filter: with `=`, the
/// planner would prefer the index of listings to the primary key while both are empty.
macro_rules! one {
    () => {
        "id = $2 and kind = $3 and tenant_id is not distinct from $1"
    };
}

/// Replaces the proof of a credential with another of the same kind, unless the credential is
/// revoked, and returns the credential.
macro_rules! rotate {
    ($columns:literal, $condition:literal) => {
        concat!(
            "update credentials set ",
            $columns,
            " where ",
            one!(),
            " and revoked_at is null and ",
            $condition,
            " returning ",
            credential_columns!()
        )
    };
}

const INSERT: &str = concat!(
    "insert into credentials (",
    credential_columns!(),
    ", sort_seq) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, \
        (select coalesce(max(sort_seq), 0) + 1 from credentials \
            where tenant_id = $3 and kind = $2))"
);
const FIND: &str = select!("where id = $1 and kind = $2");
const LIST: &str = concat!(
    "select * from ",
    page_budget!(
        concat!(
            "select sort_seq, octet_length(allowed_origins::text) \
             + coalesce(octet_length(key_set::text), 0) as bytes, ",
            credential_columns!(),
            " from credentials where tenant_id = $1 and kind = $2 \
             and sort_seq < $3 order by sort_seq desc limit $4"
        ),
        "sort_seq desc"
    ),
    " credentials order by place"
);
const ROTATE_SECRET: &str = rotate!(
    "previous_digest = case when $6::timestamptz is not null then digest end, \
     previous_until = $6, digest = $4, last4 = $5",
    "digest is not null"
);
const ROTATE_KEYS: &str = rotate!("key_set = $4, key_set_url = $5", "digest is null");
const REVOKE: &str = concat!(
    "update credentials set revoked_at = $4 where ",
    one!(),
    " and revoked_at is null"
);
const EXISTS: &str = concat!(
    "select exists (select 1 from credentials where ",
    one!(),
    ")"
);
/// Updates rows in id order, so that two nodes with the same credentials do not block each other.
const TOUCH: &str = "\
    with used as materialized ( \
        select c.id, n.at \
        from (select id, max(at) as at from unnest($1::text[], $2::timestamptz[]) as n (id, at) \
            group by id) n \
        join credentials c on c.id = n.id \
        order by c.id for update of c) \
    update credentials set last_used_at = used.at from used \
    where credentials.id = used.id \
        and (credentials.last_used_at is null or credentials.last_used_at < used.at)";

const DELETE_KEY: &str = "delete from credentials where id = $1 and kind = 'key'";
/// The number is arbitrary and the same in every process.
const LOCK_FIRST_KEY: &str = "select pg_advisory_xact_lock(7310279084265173)";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    FIND,
    LIST,
    ROTATE_SECRET,
    ROTATE_KEYS,
    REVOKE,
    EXISTS,
    TOUCH,
    DELETE_KEY,
    LOCK_FIRST_KEY,
];

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
        row.map(|row| read::row::<_, CredentialRow>("credentials", &row)?.try_into())
            .transpose()
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
        self.transaction(move |connection| {
            Box::pin(async move {
                let touched = touch.execute(connection).await;
                touched.map(drop).map_err(from_sqlx)
            })
        })
        .await
    }

    async fn access_version(&self) -> Result<i64, RepositoryError> {
        store_state::access_version(self).await
    }

    async fn insert_credential(
        connection: &mut PgConnection,
        credential: &Credential,
    ) -> Result<(), RepositoryError> {
        let scopes = credential.scopes.iter().map(Scope::as_str);
        let proof = ProofColumns::from(&credential.proof);
        let inserted = sqlx::query(INSERT)
            .bind(credential.id.as_str())
            .bind(credential.kind.as_str())
            .bind(credential.tenant.as_str())
            .bind(&credential.name)
            .bind(scopes.collect::<Vec<_>>())
            .bind(proof.digest)
            .bind(proof.last4)
            .bind(proof.previous_digest)
            .bind(proof.previous_until.map(Timestamp::date_time))
            .bind(proof.key_set)
            .bind(proof.key_set_url)
            .bind(credential.created_at.date_time())
            .bind(credential.expires_at.map(Timestamp::date_time))
            .bind(credential.last_used_at.map(Timestamp::date_time))
            .bind(credential.revoked_at.map(Timestamp::date_time))
            .bind(&credential.allowed_origins)
            .bind(Json(&credential.limits))
            .execute(connection)
            .await;
        inserted
            .map(drop)
            .map_err(conflict_on(credential.kind.as_str()))
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

    async fn revoke_credential(
        connection: &mut PgConnection,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        at: Timestamp,
    ) -> Result<bool, RepositoryError> {
        let revoked = sqlx::query(REVOKE)
            .bind(tenant.as_str())
            .bind(id.as_str())
            .bind(kind.as_str())
            .bind(at.date_time())
            .execute(connection)
            .await
            .map_err(from_sqlx)?;
        Ok(revoked.rows_affected() == 1)
    }

    async fn credential_exists(
        connection: &mut PgConnection,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
    ) -> Result<bool, RepositoryError> {
        sqlx::query_scalar(EXISTS)
            .bind(tenant.as_str())
            .bind(id.as_str())
            .bind(kind.as_str())
            .fetch_one(connection)
            .await
            .map_err(from_sqlx)
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

    async fn record_key(connection: &mut PgConnection) -> Result<(), RepositoryError> {
        store_state::record_key(connection).await
    }
}
