//! Rows of `events` and `idempotency_records`, and the heads of the logs.

use domain::{AgentId, ConversationId, NodeId, Seq, TenantId, TurnId};
use ports::write_store::{EventRow, IdempotencyRow, ReleasedKey};
use sqlx::types::Json;

use crate::{
    cte_batch::{CteBatch, Parameters},
    fragments::unnest,
};

macro_rules! insert_records {
    () => {
        concat!(
            "insert into idempotency_records (tenant_id, principal, operation, key, fingerprint, \
                turn_id, answer, created_at, claimed_by) \
            select * from ",
            unnest!(1 text, 2 text, 3 text, 4 text, 5 bytea, 6 uuid, 7 jsonb, 8 timestamptz, 9 uuid),
            " as n where true"
        )
    };
}

relational::statements! {
    const INSERT_EVENTS: &str = concat!(
        "insert into events (tenant_id, seq, type, time, agent_id, conversation_id, user_id, turn_id, \
            actor, data, bytes) \
        select n.*, octet_length(n.data::text) \
        from ",
        unnest!(
            1 text, 2 bigint, 3 text, 4 timestamptz, 5 uuid, 6 uuid, 7 text, 8 uuid, 9 text,
            10 jsonb
        ),
        " as n (tenant, seq, type, time, agent, conversation, user_id, turn, actor, data) \
        where true"
    );

    const RELEASE_KEYS: &str = concat!(
        "update idempotency_records r set turn_id = null, released_into = n.conversation, \
            released_by = n.turn \
        from ",
        unnest!(1 text, 2 text, 3 text, 4 text, 5 uuid, 6 uuid),
        " as n (tenant, principal, operation, key, turn, conversation) \
        where r.tenant_id = n.tenant and r.principal = n.principal and r.operation = n.operation \
            and r.key = n.key and r.turn_id = n.turn"
    );

    const INSERT_RECORDS: &str = insert_records!();

    const REPLACE_RECORDS: &str = concat!(
        insert_records!(),
        " on conflict (tenant_id, principal, operation, key) do update \
            set fingerprint = excluded.fingerprint, turn_id = excluded.turn_id, \
                released_into = null, released_by = null, answer = excluded.answer, \
                created_at = excluded.created_at, claimed_by = excluded.claimed_by"
    );

    const RAISE_HEADS: &str = concat!(
        "update tenants set head_seq = n.head from ",
        unnest!(1 text, 2 bigint),
        " as n (tenant, head) \
        where tenants.id = n.tenant"
    );
}

/// Inserts new events.
pub(super) fn insert_events(batch: &mut CteBatch, rows: &[EventRow]) {
    batch.add(INSERT_EVENTS, rows, |insert, rows| {
        insert
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.seq.0)
            .column(rows, |row| row.kind.as_str())
            .column(rows, |row| row.time.date_time())
            .column(rows, |row| row.agent_id.map(AgentId::uuid))
            .column(rows, |row| row.conversation_id.map(ConversationId::uuid))
            .column(rows, |row| row.user_id.as_deref())
            .column(rows, |row| row.turn_id.map(TurnId::uuid))
            .column(rows, |row| row.actor.as_str())
            .column(rows, |row| {
                row.data.as_ref().or(row.snapshot.as_ref()).map(Json)
            })
    });
}

/// Releases idempotency keys for another use.
pub(super) fn release_keys(batch: &mut CteBatch, rows: &[ReleasedKey]) {
    batch.add(RELEASE_KEYS, rows, |release, rows| {
        release
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.principal.as_str())
            .column(rows, |row| row.name.operation.as_str())
            .column(rows, |row| row.name.key.as_str())
            .column(rows, |row| row.turn_id.uuid())
            .column(rows, |row| row.conversation_id.uuid())
    });
}

/// Inserts the records of keys that were never used.
pub(super) fn insert_records(batch: &mut CteBatch, rows: &[IdempotencyRow]) {
    batch.add(INSERT_RECORDS, rows, bind_records);
}

/// Writes the records of newly used keys, replacing expired or released ones.
pub(super) fn replace_records(batch: &mut CteBatch, rows: &[IdempotencyRow]) {
    batch.add(REPLACE_RECORDS, rows, bind_records);
}

fn bind_records(parameters: Parameters, rows: &[IdempotencyRow]) -> Parameters {
    parameters
        .column(rows, |row| row.tenant.as_str())
        .column(rows, |row| row.idempotency.principal.as_str())
        .column(rows, |row| row.idempotency.operation)
        .column(rows, |row| row.idempotency.key.as_str())
        .column(rows, |row| row.idempotency.fingerprint.bytes().as_slice())
        .column(rows, |row| row.turn_id.map(TurnId::uuid))
        .column(rows, |row| row.idempotency.result.as_ref().map(Json))
        .column(rows, |row| row.idempotency.created_at.date_time())
        .column(rows, |row| row.claimed_by.map(NodeId::uuid))
}

/// Updates the heads of the logs with new events.
pub(super) fn raise_heads(batch: &mut CteBatch, rows: &[(TenantId, Seq)]) {
    batch.add(RAISE_HEADS, rows, |raise, rows| {
        raise
            .column(rows, |(tenant, _)| tenant.as_str())
            .column(rows, |(_, head)| head.0)
    });
}
