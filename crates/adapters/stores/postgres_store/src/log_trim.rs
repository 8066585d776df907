//! Removal of old events from the beginning of each log.

use domain::{TenantId, Timestamp};
use ports::RepositoryError;
use relational::{Store as _, column, page_budget, read};
use sqlx::{PgConnection, postgres::PgRow};

use crate::{
    PostgresStore,
    error::{from_sqlx, in_table},
    tenants,
};

const TENANTS_TO_TRIM: &str = "\
    select t.id from tenants t cross join lateral ( \
        select e.time from events e where e.tenant_id = t.id and e.seq >= t.first_seq \
        order by e.seq limit 1) e \
    where e.time < $1 order by t.id";
/// Returns the first event of a log, and the last event before the first one that is recent enough
/// to stay, within the limit.
const OLD_EVENTS: &str = "\
    select min(t.first_seq), coalesce(min(e.seq) filter (where e.time >= $2) - 1, max(e.seq)) \
    from tenants t cross join lateral ( \
        select e.seq, e.time from events e where e.tenant_id = t.id and e.seq >= t.first_seq \
        order by e.seq limit $3) e \
    where t.id = $1";
const DELETE: &str = "delete from events where tenant_id = $1 and seq >= $2 and seq <= $3";
const RAISE_FIRST: &str = "update tenants set first_seq = $2 + 1 where id = $1";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[TENANTS_TO_TRIM, OLD_EVENTS, DELETE, RAISE_FIRST];

/// Removes at most `limit` events that are older than `before`, in one transaction for each
/// tenant. Returns their number. If the log of a tenant cannot be trimmed, the others still are,
/// and the error is returned once nothing else is left to remove.
pub(crate) async fn trim(
    store: &PostgresStore,
    before: Timestamp,
    limit: usize,
) -> Result<u64, RepositoryError> {
    let tenants = sqlx::query(TENANTS_TO_TRIM).bind(before.date_time());
    let rows = store.connections.fetch_all(tenants).await?;
    let mut left = page_budget::row_count(limit);
    let mut outcome = Ok(());
    for row in &rows {
        if left <= 0 {
            break;
        }
        match trim_tenant(store, row, before, left).await {
            Ok(removed) => left = left.saturating_sub_unsigned(removed),
            Err(error) => outcome = outcome.and(Err(error)),
        }
    }
    if left > 0 {
        outcome?;
    }
    Ok((page_budget::row_count(limit) - left).unsigned_abs())
}

async fn trim_tenant(
    store: &PostgresStore,
    row: &PgRow,
    before: Timestamp,
    limit: i64,
) -> Result<u64, RepositoryError> {
    let (tenant,): (String,) = read::row("tenants", row)?;
    let tenant: TenantId = column::parse("tenants.id", &tenant)?;
    let trimming = store.transaction(move |connection| {
        Box::pin(async move { trim_one(connection, &tenant, before, limit).await })
    });
    trimming.await
}

async fn trim_one(
    connection: &mut PgConnection,
    tenant: &TenantId,
    before: Timestamp,
    limit: i64,
) -> Result<u64, RepositoryError> {
    // Locks before any read: another process may trim the same log.
    tenants::lock(&mut *connection, tenant).await?;
    let old: (Option<i64>, Option<i64>) = sqlx::query_as(OLD_EVENTS)
        .bind(tenant.as_str())
        .bind(before.date_time())
        .bind(limit)
        .fetch_one(&mut *connection)
        .await
        .map_err(in_table("events"))?;
    let (Some(first), Some(last)) = old else {
        return Ok(0);
    };
    let removed = sqlx::query(DELETE)
        .bind(tenant.as_str())
        .bind(first)
        .bind(last)
        .execute(&mut *connection)
        .await
        .map_err(from_sqlx)?;
    sqlx::query(RAISE_FIRST)
        .bind(tenant.as_str())
        .bind(last)
        .execute(connection)
        .await
        .map_err(from_sqlx)?;
    Ok(removed.rows_affected())
}
