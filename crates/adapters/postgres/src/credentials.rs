//! API keys and OAuth clients.

use async_trait::async_trait;
use domain::{
    Credential, CredentialId, CredentialKind, IdempotencyEntry, Listed, Page, Scope, Seq, TenantId,
    Timestamp,
};
use ports::{CredentialRepository, Idempotent, NewProof, RepositoryError, ShowKey};
use relational::{ClaimRow, ProofColumns, Rows, page_budget};
use sqlx::{
    PgConnection,
    postgres::{PgArguments, PgRow, Postgres},
    query::Query,
    types::Json,
};

use crate::{
    PostgresStore, claims,
    credential_row::{CredentialRow, credential_columns},
    error::{conflict_on, from_sqlx},
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

/// API keys and OAuth clients in PostgreSQL.
pub(crate) struct PostgresCredentials {
    pub(crate) store: PostgresStore,
}

#[async_trait]
impl CredentialRepository for PostgresCredentials {
    async fn insert(
        &self,
        credential: &Credential,
        claim: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<()>, RepositoryError> {
        let (credential, claim) = (credential.clone(), claim.cloned());
        self.store
            .connections
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
        self.store
            .connections
            .run(|connection| Box::pin(store_state::had_key(connection)))
            .await
    }

    async fn find(
        &self,
        kind: CredentialKind,
        id: &CredentialId,
    ) -> Result<Option<Credential>, RepositoryError> {
        let find = sqlx::query(FIND).bind(id.as_str()).bind(kind.as_str());
        let row = self.store.connections.fetch_optional(find).await?;
        row.as_ref().map(read).transpose()
    }

    async fn list(
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
            .bind(row::one_more(limit));
        let rows = self.store.connections.fetch_all(list).await?;
        let read = rows.iter().map(|row| row::read("credentials", row));
        let limit = row::fitting_rows(&rows)?.min(limit);
        Ok(Page::from_one_more(listed(read)?, limit))
    }

    async fn rotate(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        proof: &NewProof,
        claim: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Option<Credential>>, RepositoryError> {
        let rotation = rotation(kind, tenant, id, proof);
        let (tenant, claim) = (tenant.clone(), claim.cloned());
        self.store
            .connections
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
            .connections
            .transaction(move |connection| {
                Box::pin(async move { revoke(connection, kind, &tenant, &id, at).await })
            })
            .await
    }

    async fn touch(&self, used: &[(CredentialId, Timestamp)]) -> Result<(), RepositoryError> {
        if used.is_empty() {
            return Ok(());
        }
        let (ids, times): (Vec<_>, Vec<_>) = used
            .iter()
            .map(|(id, at)| (id.to_string(), at.date_time()))
            .unzip();
        let touch = sqlx::query(TOUCH).bind(ids).bind(times);
        self.store
            .connections
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

fn read(row: &PgRow) -> Result<Credential, RepositoryError> {
    row::read::<CredentialRow>("credentials", row)?.try_into()
}

async fn insert(
    connection: &mut PgConnection,
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
    connection: &mut PgConnection,
    tenant: &TenantId,
    claim: Option<&IdempotencyEntry>,
) -> Result<(), RepositoryError> {
    let mut rows = Rows::default();
    rows.claims.extend(ClaimRow::without_turn(tenant, claim));
    rows::write(connection, &rows).await
}

pub(crate) async fn write(
    connection: &mut PgConnection,
    credential: &Credential,
) -> Result<(), RepositoryError> {
    let scopes = credential.scopes.iter().map(Scope::as_str);
    let proof = ProofColumns::from(&credential.proof);
    sqlx::query(INSERT)
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
        .await
        .map_err(conflict_on(credential.kind.as_str()))?;
    Ok(())
}

fn rotation(
    kind: CredentialKind,
    tenant: &TenantId,
    id: &CredentialId,
    proof: &NewProof,
) -> Query<'static, Postgres, PgArguments> {
    let statement = match proof {
        NewProof::Secret { .. } => ROTATE_SECRET,
        NewProof::Keys(_) => ROTATE_KEYS,
    };
    let rotation = sqlx::query(statement)
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(kind.as_str());
    match proof {
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
    }
}

async fn rotate(
    connection: &mut PgConnection,
    tenant: &TenantId,
    rotation: Query<'static, Postgres, PgArguments>,
    claim: Option<&IdempotencyEntry>,
) -> Result<Idempotent<Option<Credential>>, RepositoryError> {
    tenants::lock(connection, tenant).await?;
    if let Some(record) = claims::existing_record(connection, tenant, claim).await? {
        return Ok(Idempotent::Replayed(record));
    }
    let row = rotation.fetch_optional(&mut *connection).await;
    let Some(row) = row.map_err(from_sqlx)? else {
        return Ok(Idempotent::Applied(None));
    };
    store_state::raise_access_version(connection).await?;
    record(connection, tenant, claim).await?;
    Ok(Idempotent::Applied(Some(read(&row)?)))
}

async fn revoke(
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
