//! Removal of old events from the beginning of each log.

use domain::{TenantId, Timestamp};
use ports::RepositoryError;

use crate::{
    Store, column, page_budget, parameters,
    read::{self, ReadAs},
    repositories::tenants,
    statements,
};

statements! {
    const DELETE: &str = "delete from events where tenant_id = $1 and seq >= $2 and seq <= $3";

    const RAISE_FIRST: &str = "update tenants set first_seq = $2 + 1 where id = $1";
}

/// The statements on old events.
pub trait LogTrimSql: Store<Row: ReadAs<(String,)> + ReadAs<(Option<i64>, Option<i64>)>> {
    /// Statements that delete what belongs to the events 2 to 3 of tenant 1.
    const DELETE_CONTENT: &'static [&'static str];

    statements! {
        /// The tenants whose first event is older than 1.
        const TENANTS_TO_TRIM: &'static str;

        /// The first event of the log of tenant 1, and the last event before the first one of 2 or later,
        /// among the first 3 events.
        const OLD_EVENTS: &'static str;
    }
}

/// Removes at most `limit` events that are older than `before`, in one transaction for each
/// tenant. Returns their number. If the log of a tenant cannot be trimmed, the others still are,
/// and the error is returned once nothing else is left to remove.
pub async fn trim_log<S: LogTrimSql>(
    store: &S,
    before: Timestamp,
    limit: usize,
) -> Result<u64, RepositoryError> {
    let parameters = parameters![before];
    let rows = store.fetch_all(S::TENANTS_TO_TRIM, parameters).await?;
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

async fn trim_tenant<S: LogTrimSql>(
    store: &S,
    row: &S::Row,
    before: Timestamp,
    limit: i64,
) -> Result<u64, RepositoryError> {
    let (tenant,): (String,) = read::row("tenants", row)?;
    let tenant: TenantId = column::parse("tenants.id", &tenant)?;
    let trimming = store.transaction(move |connection| {
        Box::pin(async move { trim_one::<S>(connection, &tenant, before, limit).await })
    });
    trimming.await
}

async fn trim_one<S: LogTrimSql>(
    connection: &mut S::Connection,
    tenant: &TenantId,
    before: Timestamp,
    limit: i64,
) -> Result<u64, RepositoryError> {
    // Locks before any read: another process may trim the same log.
    tenants::lock::<S>(connection, tenant).await?;
    let parameters = parameters![tenant, before, limit];
    let old = S::fetch_all_in(connection, S::OLD_EVENTS, parameters).await?;
    let old = read::one("events", old.into_iter().next(), Ok)?;
    let Some((Some(first), Some(last))): Option<(Option<i64>, Option<i64>)> = old else {
        return Ok(0);
    };
    let range = parameters![tenant, first, last];
    let removed = S::execute_in(connection, DELETE, range).await?;
    for statement in S::DELETE_CONTENT {
        S::execute_in(connection, statement, range).await?;
    }
    S::execute_in(connection, RAISE_FIRST, parameters![tenant, last]).await?;
    Ok(removed)
}
