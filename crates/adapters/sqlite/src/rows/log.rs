//! Rows of `events` and `idempotency_records`, and the heads of the logs.

use domain::{Seq, TenantId};
use ports::RepositoryError;
use relational::{EventRow, IdempotencyRow, ReleasedKey};
use serde::Serialize;
use serde_json::Value;
use uuid::fmt::Simple;

use super::hexadecimal;
use crate::script::Script;

const INSERT_EVENTS: &str = concat!(
    given!(),
    "insert into events (tenant_id, seq, type, time, agent_id, conversation_id, user_id, turn_id, \
        actor, data) \
    select entry ->> 'tenant', entry ->> 'seq', entry ->> 'type', entry ->> 'time', \
        unhex(entry ->> 'agent'), unhex(entry ->> 'conversation'), entry ->> 'user', \
        unhex(entry ->> 'turn'), entry ->> 'actor', entry ->> 'data' \
    from given"
);
const INSERT_SNAPSHOTS: &str = concat!(
    given!(),
    "insert into agent_snapshots (tenant_id, seq, agent) \
    select entry ->> 'tenant', entry ->> 'seq', entry ->> 'agent' from given"
);
const RELEASE_KEYS: &str = concat!(
    given!(),
    "update idempotency_records set turn_id = null, released_into = n.conversation, \
        released_by = n.turn \
    from (select entry ->> 'tenant' as tenant, entry ->> 'principal' as principal, \
        entry ->> 'operation' as operation, entry ->> 'key' as key, \
        unhex(entry ->> 'turn') as turn, unhex(entry ->> 'conversation') as conversation \
        from given) n \
    where idempotency_records.tenant_id = n.tenant \
        and idempotency_records.principal = n.principal \
        and idempotency_records.operation = n.operation and idempotency_records.key = n.key \
        and idempotency_records.turn_id = n.turn"
);
const WRITE_RECORDS: &str = concat!(
    given!(),
    "insert or replace into idempotency_records (tenant_id, principal, operation, key, \
        fingerprint, turn_id, answer, created_at) \
    select entry ->> 'tenant', entry ->> 'principal', entry ->> 'operation', entry ->> 'key', \
        unhex(entry ->> 'fingerprint'), unhex(entry ->> 'turn'), entry ->> 'answer', \
        entry ->> 'created' \
    from given"
);
const RAISE_HEADS: &str = concat!(
    given!(),
    "update tenants set head_seq = n.head \
    from (select entry ->> 0 as tenant, entry ->> 1 as head from given) n \
    where tenants.id = n.tenant"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    INSERT_EVENTS,
    INSERT_SNAPSHOTS,
    RELEASE_KEYS,
    WRITE_RECORDS,
    RAISE_HEADS,
];

#[derive(Serialize)]
struct NewEvent<'r> {
    tenant: &'r str,
    seq: i64,
    r#type: &'static str,
    time: i64,
    agent: Option<Simple>,
    conversation: Option<Simple>,
    user: Option<&'r str>,
    turn: Option<Simple>,
    actor: &'r str,
    data: Option<String>,
}

#[derive(Serialize)]
struct NewSnapshot<'r> {
    tenant: &'r str,
    seq: i64,
    agent: String,
}

#[derive(Serialize)]
struct Released<'r> {
    tenant: &'r str,
    principal: &'r str,
    operation: &'r str,
    key: &'r str,
    turn: Simple,
    conversation: Simple,
}

#[derive(Serialize)]
struct NewRecord<'r> {
    tenant: &'r str,
    principal: &'r str,
    operation: &'static str,
    key: &'r str,
    fingerprint: String,
    turn: Option<Simple>,
    answer: Option<String>,
    created: i64,
}

/// Inserts new events.
pub(super) fn insert_events(script: &mut Script, rows: &[EventRow]) -> Result<(), RepositoryError> {
    script.add(INSERT_EVENTS, rows, |row| {
        Ok(NewEvent {
            tenant: row.tenant.as_str(),
            seq: row.seq.0,
            r#type: row.kind.as_str(),
            time: row.time.milliseconds(),
            agent: row.agent_id.map(|id| id.uuid().simple()),
            conversation: row.conversation_id.map(|id| id.uuid().simple()),
            user: row.user_id.as_deref(),
            turn: row.turn_id.map(|id| id.uuid().simple()),
            actor: row.actor.as_str(),
            data: row.data.as_ref().map(Value::to_string),
        })
    })
}

/// Inserts the agent snapshots of new events.
pub(super) fn insert_snapshots(
    script: &mut Script,
    rows: &[EventRow],
) -> Result<(), RepositoryError> {
    let new = rows.iter().filter_map(|row| {
        Some(NewSnapshot {
            tenant: row.tenant.as_str(),
            seq: row.seq.0,
            agent: row.snapshot.as_ref()?.to_string(),
        })
    });
    script.add(INSERT_SNAPSHOTS, &new.collect::<Vec<_>>(), Ok)
}

/// Releases idempotency keys for another use.
pub(super) fn release_keys(
    script: &mut Script,
    rows: &[ReleasedKey],
) -> Result<(), RepositoryError> {
    script.add(RELEASE_KEYS, rows, |row| {
        Ok(Released {
            tenant: row.tenant.as_str(),
            principal: row.principal.as_str(),
            operation: &row.name.operation,
            key: &row.name.key,
            turn: row.turn_id.uuid().simple(),
            conversation: row.conversation_id.uuid().simple(),
        })
    })
}

/// Writes the records of newly used keys, replacing expired or released ones.
pub(super) fn write_records(
    script: &mut Script,
    rows: &[IdempotencyRow],
) -> Result<(), RepositoryError> {
    script.add(WRITE_RECORDS, rows, |row| {
        Ok(NewRecord {
            tenant: row.tenant.as_str(),
            principal: row.idempotency.principal.as_str(),
            operation: row.idempotency.operation,
            key: row.idempotency.key.as_str(),
            fingerprint: hexadecimal(row.idempotency.fingerprint.bytes()),
            turn: row.turn_id.map(|id| id.uuid().simple()),
            answer: row.idempotency.result.as_ref().map(Value::to_string),
            created: row.idempotency.created_at.milliseconds(),
        })
    })
}

/// Updates the heads of the logs with new events.
pub(super) fn raise_heads(
    script: &mut Script,
    rows: &[(TenantId, Seq)],
) -> Result<(), RepositoryError> {
    script.add(RAISE_HEADS, rows, |(tenant, head)| {
        Ok((tenant.as_str(), head.0))
    })
}
