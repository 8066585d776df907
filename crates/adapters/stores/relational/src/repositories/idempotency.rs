//! Idempotency records.

use async_trait::async_trait;
use domain::{ConversationId, IdempotencyEntry, IdempotencyRecord, TenantId, TurnId};
use ports::{IdempotencyRepository, RepositoryError, write_store::is_within_retention};

use super::Repositories;
use crate::{
    Parameter, Store, parameters,
    read::{self, ReadAs},
    statements,
    stored::StoredRecord,
};

statements! {
    const FIND: &str = "\
        select fingerprint, turn_id, released_into, released_by, answer, created_at \
        from idempotency_records \
        where tenant_id = $1 and principal = $2 and operation = $3 and key = $4";

    const SETTLE: &str = "\
        update idempotency_records set answer = $1, claimed_by = null \
        where tenant_id = $2 and principal = $3 and operation = $4 and key = $5 and turn_id = $6";

    const RELEASE: &str = "\
        update idempotency_records set answer = $1, claimed_by = null, turn_id = null, \
            released_into = $2, released_by = turn_id \
        where tenant_id = $3 and principal = $4 and operation = $5 and key = $6 and turn_id = $7";
}

#[async_trait]
impl<S: Store<Row: ReadAs<StoredRecord>>> IdempotencyRepository for Repositories<S> {
    async fn find(
        &self,
        tenant: &TenantId,
        idempotency: &IdempotencyEntry,
    ) -> Result<Option<IdempotencyRecord>, RepositoryError> {
        let key = key(tenant, idempotency);
        let record = read(self.0.fetch_optional(FIND, &key).await?)?;
        Ok(record.filter(|record| is_within_retention(record, idempotency.created_at)))
    }

    async fn settle(
        &self,
        tenant: &TenantId,
        idempotency: &IdempotencyEntry,
        turn: TurnId,
        released_into: Option<ConversationId>,
    ) -> Result<bool, RepositoryError> {
        let [tenant, principal, operation, key] = key(tenant, idempotency);
        let answer = idempotency.result.as_ref();
        let changed = if released_into.is_some() {
            let parameters = parameters![
                answer,
                released_into,
                tenant,
                principal,
                operation,
                key,
                turn
            ];
            self.0.execute(RELEASE, parameters).await?
        } else {
            let parameters = parameters![answer, tenant, principal, operation, key, turn];
            self.0.execute(SETTLE, parameters).await?
        };
        Ok(changed > 0)
    }
}

/// Finds the record of the entry's key, however old it is.
pub(super) async fn find<S: Store<Row: ReadAs<StoredRecord>>>(
    connection: &mut S::Connection,
    tenant: &TenantId,
    idempotency: &IdempotencyEntry,
) -> Result<Option<IdempotencyRecord>, RepositoryError> {
    let rows = S::fetch_all_in(connection, FIND, &key(tenant, idempotency)).await?;
    read(rows.into_iter().next())
}

fn key<'a>(tenant: &'a TenantId, idempotency: &'a IdempotencyEntry) -> [Parameter<'a>; 4] {
    *parameters![
        tenant,
        idempotency.principal.as_str(),
        idempotency.operation,
        idempotency.key.as_str(),
    ]
}

fn read<R: ReadAs<StoredRecord>>(
    found: Option<R>,
) -> Result<Option<IdempotencyRecord>, RepositoryError> {
    read::one("idempotency_records", found, |row: StoredRecord| {
        row.try_into()
    })
}
