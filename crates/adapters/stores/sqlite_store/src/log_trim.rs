//! Removal of old events from the beginning of each log.

use domain::{TenantId, Timestamp};
use ports::RepositoryError;
use relational::{Store as _, column, page_budget};
use sqlx::SqliteConnection;

use crate::{
    SqliteStore,
    error::{from_sqlx, in_table},
};

const TENANTS_TO_TRIM: &str = "\
    select id from tenants where ( \
        select e.time from events e where e.tenant_id = tenants.id and e.seq >= first_seq \
        order by e.seq limit 1) < ?1 \
    order by id";
/// Returns the first event of a log, and the last event before the first one that is recent enough
/// to stay, within the limit.
const OLD_EVENTS: &str = "\
    with oldest as materialized ( \
        select t.first_seq, e.seq, e.time from tenants t cross join events e \
            on e.tenant_id = t.id and e.seq >= t.first_seq \
        where t.id = ?1 order by e.seq limit ?3) \
    select min(first_seq), coalesce(min(seq) filter (where time >= ?2) - 1, max(seq)) \
    from oldest";
const DELETE: &str = "delete from events where tenant_id = ?1 and seq >= ?2 and seq <= ?3";
const DELETE_SNAPSHOTS: &str =
    "delete from agent_snapshots where tenant_id = ?1 and seq >= ?2 and seq <= ?3";
const RAISE_FIRST: &str = "update tenants set first_seq = ?2 + 1 where id = ?1";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    TENANTS_TO_TRIM,
    OLD_EVENTS,
    DELETE,
    DELETE_SNAPSHOTS,
    RAISE_FIRST,
];

/// Removes at most `limit` events that are older than `before`, in one transaction for each
/// tenant. Returns their number. If the log of a tenant cannot be trimmed, the others still are,
/// and the error is returned once nothing else is left to remove.
pub(crate) async fn trim(
    store: &SqliteStore,
    before: Timestamp,
    limit: usize,
) -> Result<u64, RepositoryError> {
    let tenants: Vec<String> = sqlx::query_scalar(TENANTS_TO_TRIM)
        .bind(before.milliseconds())
        .fetch_all(&store.readers)
        .await
        .map_err(in_table("tenants"))?;
    let mut left = page_budget::row_count(limit);
    let mut outcome = Ok(());
    for tenant in &tenants {
        if left <= 0 {
            break;
        }
        match trim_tenant(store, tenant, before, left).await {
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
    store: &SqliteStore,
    tenant: &str,
    before: Timestamp,
    limit: i64,
) -> Result<u64, RepositoryError> {
    let tenant: TenantId = column::parse("tenants.id", tenant)?;
    let trimming = store.transaction(move |connection| {
        Box::pin(async move { trim_one(connection, &tenant, before, limit).await })
    });
    trimming.await
}

async fn trim_one(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    before: Timestamp,
    limit: i64,
) -> Result<u64, RepositoryError> {
    let old: (Option<i64>, Option<i64>) = sqlx::query_as(OLD_EVENTS)
        .bind(tenant.as_str())
        .bind(before.milliseconds())
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
    sqlx::query(DELETE_SNAPSHOTS)
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
