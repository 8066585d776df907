//! Rows of `events` and `idempotency_records`, and the heads of the logs.

use domain::{Seq, TenantId};
use ports::write_store::{EventRow, IdempotencyRow, ReleasedKey};

use super::change::Changes;

relational::statements! {
    const INSERT_EVENT: &str = "\
        insert into events (tenant_id, seq, type, time, agent_id, conversation_id, user_id, turn_id, \
            actor, data) \
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    const INSERT_SNAPSHOT: &str =
        "insert into agent_snapshots (tenant_id, seq, agent) values (?, ?, ?)";

    const RELEASE_KEY: &str = "\
        update idempotency_records set turn_id = null, released_into = ?1, released_by = ?2 \
        where tenant_id = ?3 and principal = ?4 and operation = ?5 and key = ?6 and turn_id = ?2";

    const WRITE_RECORD: &str = "\
        insert or replace into idempotency_records (tenant_id, principal, operation, key, \
            fingerprint, turn_id, answer, created_at, claimed_by) \
        values (?, ?, ?, ?, ?, ?, ?, ?, ?)";

    const RAISE_HEAD: &str = "update tenants set head_seq = ? where id = ?";
}

/// Inserts a new event with the agent's snapshot that belongs to it.
pub(super) fn insert_event<'r>(changes: &mut Changes<'r>, row: &'r EventRow) {
    let (tenant, seq) = (row.tenant.as_str(), row.seq.0);
    changes.add(
        INSERT_EVENT,
        [
            tenant.into(),
            seq.into(),
            row.kind.as_str().into(),
            row.time.into(),
            row.agent_id.into(),
            row.conversation_id.into(),
            row.user_id.as_deref().into(),
            row.turn_id.into(),
            row.actor.as_str().into(),
            row.data.as_ref().into(),
        ],
    );
    if let Some(agent) = &row.snapshot {
        changes.add(INSERT_SNAPSHOT, [tenant.into(), seq.into(), agent.into()]);
    }
}

/// Releases an idempotency key for another use.
pub(super) fn release_key<'r>(changes: &mut Changes<'r>, row: &'r ReleasedKey) {
    changes.add(
        RELEASE_KEY,
        [
            row.conversation_id.into(),
            row.turn_id.into(),
            row.tenant.as_str().into(),
            row.principal.as_str().into(),
            row.name.operation.as_str().into(),
            row.name.key.as_str().into(),
        ],
    );
}

/// Writes the record of a newly used key, replacing an expired or released one.
pub(super) fn write_record<'r>(changes: &mut Changes<'r>, row: &'r IdempotencyRow) {
    let used = &row.idempotency;
    changes.add(
        WRITE_RECORD,
        [
            row.tenant.as_str().into(),
            used.principal.as_str().into(),
            used.operation.into(),
            used.key.as_str().into(),
            used.fingerprint.bytes().as_slice().into(),
            row.turn_id.into(),
            used.result.as_ref().into(),
            used.created_at.into(),
            row.claimed_by.into(),
        ],
    );
}

/// Updates the head of a log with new events.
pub(super) fn raise_head<'r>(changes: &mut Changes<'r>, (tenant, head): &'r (TenantId, Seq)) {
    changes.add(RAISE_HEAD, [head.0.into(), tenant.as_str().into()]);
}
