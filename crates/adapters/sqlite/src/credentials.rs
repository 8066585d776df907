//! API keys and OAuth clients.

use async_trait::async_trait;
use domain::{
    Credential, CredentialId, CredentialKind, IdempotencyEntry, Listed, Page, Seq, TenantId,
    Timestamp,
};
use ports::{CredentialRepository, Idempotent, NewProof, RepositoryError, ShowKey};
use relational::{ClaimRow, ProofColumns, Rows, page_budget};
use sqlx::{
    FromRow as _, SqliteConnection,
    query::QueryAs,
    sqlite::{Sqlite, SqliteArguments},
};

use crate::{
    SqliteStore, claims,
    credential_row::{CredentialRow, credential_columns},
    error::{conflict_on, from_sqlx, in_table},
    first_key,
    row::{self, ListedRow},
    rows, store_state, tenants,
};

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

/// Replaces the proof of a credential with another of the same kind, unless the credential is
/// revoked, and returns the credential.
macro_rules! rotate {
    ($columns:literal, $condition:literal) => {
        concat!(
            "update credentials set ",
            $columns,
            " where tenant_id = ?1 and id = ?2 and kind = ?3 and revoked_at is null and ",
            $condition,
            " returning ",
            credential_columns!()
        )
    };
}

const INSERT: &str = concat!(
    "insert into credentials (",
    credential_columns!(),
    ", sort_seq) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
        (select coalesce(max(sort_seq), 0) + 1 from credentials \
            where tenant_id = ?3 and kind = ?2))"
);
const FIND: &str = select!("where id = ?1 and kind = ?2");
const LIST: &str = concat!(
    "select p.place_in_list as sort_seq, p.total, ",
    credential_columns!(),
    " from ",
    page_budget!(
        "select rowid as credential, sort_seq as place_in_list, octet_length(allowed_origins) \
         + coalesce(octet_length(key_set), 0) as bytes from credentials \
         where tenant_id = ?1 and kind = ?2 and sort_seq < ?3 \
         order by sort_seq desc limit ?4",
        "place_in_list desc"
    ),
    " p cross join credentials c on c.rowid = p.credential order by p.place"
);
const ROTATE_SECRET: &str = rotate!(
    "previous_digest = case when ?6 is not null then digest end, \
     previous_until = ?6, digest = ?4, last4 = ?5",
    "digest is not null"
);
const ROTATE_KEYS: &str = rotate!("key_set = ?4, key_set_url = ?5", "digest is null");
const REVOKE: &str = "\
    update credentials set revoked_at = ?4 \
    where tenant_id = ?1 and id = ?2 and kind = ?3 and revoked_at is null";
const EXISTS: &str = "\
    select exists (select 1 from credentials where tenant_id = ?1 and id = ?2 and kind = ?3)";
const TOUCH: &str = "\
    update credentials set last_used_at = used.at \
    from (select value ->> 0 as id, max(value ->> 1) as at from json_each(?1) group by 1) as used \
    where credentials.id = used.id and coalesce(credentials.last_used_at < used.at, true)";

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
];

/// An update that returns the updated credential.
type Rotation = QueryAs<'static, Sqlite, CredentialRow, SqliteArguments>;

/// API keys and OAuth clients in SQLite.
pub(crate) struct SqliteCredentials {
    pub(crate) store: SqliteStore,
}

#[async_trait]
impl CredentialRepository for SqliteCredentials {
    async fn insert(
        &self,
        credential: &Credential,
        claim: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<()>, RepositoryError> {
        let (credential, claim) = (credential.clone(), claim.cloned());
        self.store
            .writer
            .transaction(move |connection| {
                Box::pin(async move { insert(connection, &credential, claim.as_ref()).await })
            })
            .await
    }

    async fn insert_first_key(
        &self,
        key: &Credential,
        show: ShowKey,
    ) -> Result<bool, RepositoryError> {
        first_key::insert(&self.store, key, show).await
    }

    async fn has_ever_held_a_key(&self) -> Result<bool, RepositoryError> {
        store_state::had_key(&self.store.readers).await
    }

    async fn find(
        &self,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> Result<Option<Credential>, RepositoryError> {
        let row: Option<CredentialRow> = sqlx::query_as(FIND)
            .bind(id.as_str())
            .bind(kind.as_str())
            .fetch_optional(&self.store.readers)
            .await
            .map_err(in_table("credentials"))?;
        row.map(Credential::try_from).transpose()
    }

    async fn list(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<Credential>>, RepositoryError> {
        let rows = sqlx::query(LIST)
            .bind(tenant.as_str())
            .bind(kind.as_str())
            .bind(after.map_or(i64::MAX, |after| after.0))
            .bind(row::one_more(limit))
            .fetch_all(&self.store.readers)
            .await
            .map_err(in_table("credentials"))?;
        let limit = row::fitting_rows(&rows)?.min(limit);
        let read = |row| ListedRow::from_row(row).map_err(in_table("credentials"));
        Ok(Page::from_one_more(listed(rows.iter().map(read))?, limit))
    }

    async fn rotate(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        proof: &NewProof,
        claim: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Option<Credential>>, RepositoryError> {
        let rotation = rotation(kind, tenant, id, proof)?;
        let (tenant, claim) = (tenant.clone(), claim.cloned());
        self.store
            .writer
            .transaction(move |connection| {
                Box::pin(async move { rotate(connection, &tenant, rotation, claim.as_ref()).await })
            })
            .await
    }

    async fn revoke(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        at: Timestamp,
    ) -> Result<bool, RepositoryError> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.store
            .writer
            .transaction(move |connection| {
                Box::pin(async move { revoke(connection, kind, &tenant, &id, at).await })
            })
            .await
    }

    async fn touch(&self, used: &[(CredentialId, Timestamp)]) -> Result<(), RepositoryError> {
        if used.is_empty() {
            return Ok(());
        }
        let used: Vec<_> = used
            .iter()
            .map(|(id, at)| (id, at.milliseconds()))
            .collect();
        let touch = sqlx::query(TOUCH).bind(row::to_json(&used)?);
        self.store
            .writer
            .transaction(move |connection| {
                Box::pin(async move {
                    touch.execute(connection).await.map_err(from_sqlx)?;
                    Ok(())
                })
            })
            .await
    }

    async fn access_version(&self) -> Result<i64, RepositoryError> {
        store_state::access_version(&self.store).await
    }
}

async fn insert(
    connection: &mut SqliteConnection,
    credential: &Credential,
    claim: Option<&IdempotencyEntry>,
) -> Result<Idempotent<()>, RepositoryError> {
    tenants::lock(connection, &credential.tenant).await?;
    if let Some(record) = claims::existing_record(connection, &credential.tenant, claim).await? {
        return Ok(Idempotent::Replayed(record));
    }
    write(connection, credential).await?;
    if credential.kind == CredentialKind::Key {
        store_state::record_key(connection).await?;
    }
    record(connection, &credential.tenant, claim).await?;
    Ok(Idempotent::Applied(()))
}

async fn record(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    claim: Option<&IdempotencyEntry>,
) -> Result<(), RepositoryError> {
    let mut rows = Rows::default();
    rows.claims.extend(ClaimRow::without_turn(tenant, claim));
    rows::write(connection, &rows).await
}

pub(crate) async fn write(
    connection: &mut SqliteConnection,
    credential: &Credential,
) -> Result<(), RepositoryError> {
    let proof = ProofColumns::from(&credential.proof);
    let key_set = proof.key_set.as_ref().map(row::to_json).transpose()?;
    sqlx::query(INSERT)
        .bind(credential.id.as_str())
        .bind(credential.kind.as_str())
        .bind(credential.tenant.as_str())
        .bind(&credential.name)
        .bind(row::to_json(&credential.scopes)?)
        .bind(proof.digest)
        .bind(proof.last4)
        .bind(proof.previous_digest)
        .bind(proof.previous_until.map(Timestamp::milliseconds))
        .bind(key_set)
        .bind(proof.key_set_url)
        .bind(credential.created_at.milliseconds())
        .bind(credential.expires_at.map(Timestamp::milliseconds))
        .bind(credential.last_used_at.map(Timestamp::milliseconds))
        .bind(credential.revoked_at.map(Timestamp::milliseconds))
        .bind(row::to_json(&credential.allowed_origins)?)
        .bind(row::to_json(&credential.limits)?)
        .execute(connection)
        .await
        .map_err(conflict_on(credential.kind.as_str()))?;
    Ok(())
}

fn rotation(
    kind: CredentialKind,
    tenant: &TenantId,
    id: &CredentialId,
    proof: &NewProof,
) -> Result<Rotation, RepositoryError> {
    let statement = match proof {
        NewProof::Secret { .. } => ROTATE_SECRET,
        NewProof::Keys(_) => ROTATE_KEYS,
    };
    let rotation = sqlx::query_as(statement)
        .bind(tenant.to_string())
        .bind(id.to_string())
        .bind(kind.as_str());
    match proof {
        NewProof::Secret {
            digest,
            last4,
            previous_until,
        } => Ok(rotation
            .bind(digest.bytes().to_vec())
            .bind(last4.clone())
            .bind(previous_until.map(Timestamp::milliseconds))),
        NewProof::Keys(keys) => {
            let columns = ProofColumns::from(keys);
            let key_set = columns.key_set.as_ref().map(row::to_json).transpose()?;
            Ok(rotation.bind(key_set).bind(columns.key_set_url))
        }
    }
}

async fn rotate(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    rotation: Rotation,
    claim: Option<&IdempotencyEntry>,
) -> Result<Idempotent<Option<Credential>>, RepositoryError> {
    tenants::lock(connection, tenant).await?;
    if let Some(record) = claims::existing_record(connection, tenant, claim).await? {
        return Ok(Idempotent::Replayed(record));
    }
    let row = rotation.fetch_optional(&mut *connection).await;
    let Some(row) = row.map_err(in_table("credentials"))? else {
        return Ok(Idempotent::Applied(None));
    };
    store_state::raise_access_version(connection).await?;
    record(connection, tenant, claim).await?;
    Ok(Idempotent::Applied(Some(row.try_into()?)))
}

async fn revoke(
    connection: &mut SqliteConnection,
    kind: CredentialKind,
    tenant: &TenantId,
    id: &CredentialId,
    at: Timestamp,
) -> Result<bool, RepositoryError> {
    let revoked = sqlx::query(REVOKE)
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(kind.as_str())
        .bind(at.milliseconds())
        .execute(&mut *connection)
        .await
        .map_err(from_sqlx)?;
    if revoked.rows_affected() == 1 {
        store_state::raise_access_version(connection).await?;
        return Ok(true);
    }
    sqlx::query_scalar(EXISTS)
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(kind.as_str())
        .fetch_one(connection)
        .await
        .map_err(from_sqlx)
}

fn listed(
    rows: impl Iterator<Item = Result<ListedRow<CredentialRow>, RepositoryError>>,
) -> Result<Vec<Listed<Credential>>, RepositoryError> {
    rows.map(|row| {
        let row = row?;
        Ok(Listed {
            item: row.item.try_into()?,
            sort_seq: row.sort_seq,
        })
    })
    .collect()
}
