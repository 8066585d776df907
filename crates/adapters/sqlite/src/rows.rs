//! Writes the rows of a plan, with one statement for each table and kind of change.
//!
//! Rows are sent as JSON arrays with hexadecimal ids, and all statements together: during each
//! round trip to the driver's thread no other write can run.

/// The start of a statement on all rows of its parameter, as entries of `given`. Without
/// `materialized`, SQLite would serialise the JSON of an entry again for each extracted column.
macro_rules! given {
    () => {
        "with given as materialized (select value as entry from json_each(?)) "
    };
}

mod agents;
mod conversations;
mod credentials;
mod log;
mod messages;
mod turns;

use std::fmt::Write as _;

use ports::RepositoryError;
use relational::{PlannedBatch, Rows};
use rusqlite::{Connection, TransactionBehavior};
use serde_json::json;
use sqlx::SqliteConnection;

use crate::{
    error::from_rusqlite,
    facts::{key_columns, name_columns},
    script::Script,
    writer::{WriteError, commit_error},
};

/// The condition under which a planned batch is written.
const IS_CURRENT: &str = "\
        select (select count(*) from json_each(given.entry, '$.heads') q \
                cross join tenants t on t.id = q.value ->> 0 \
                where t.head_seq = q.value ->> 1) \
            = json_array_length(given.entry, '$.heads') \
        and (select count(*) from json_each(given.entry, '$.nodes') q \
                cross join nodes n on n.id = unhex(q.value) where n.swept = 0) \
            = json_array_length(given.entry, '$.nodes') \
        and not exists (select 1 from json_each(given.entry, '$.keys') q \
            cross join idempotency_records r \
                on r.tenant_id = q.value ->> 0 and r.principal = q.value ->> 1 \
                and r.operation = q.value ->> 2 and r.key = q.value ->> 3) \
        and (select count(*) from json_each(given.entry, '$.credentials') q \
                cross join credentials c on c.id = q.value ->> 0 \
                where c.tenant_id = q.value ->> 1 and c.kind = q.value ->> 2 \
                and c.revoked_at is null) \
            = json_array_length(given.entry, '$.credentials') \
        and not exists (select 1 from json_each(given.entry, '$.names') q \
            cross join conversations c on c.tenant_id = q.value ->> 0 \
                and c.agent_id = unhex(q.value ->> 1) \
                and coalesce(c.user_id, '') = q.value ->> 2 and c.key = q.value ->> 3 \
            where c.key is not null and c.deleted_at is null) \
        from (select ? as entry) given";

/// The statements of this module.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    &[IS_CURRENT],
    agents::STATEMENTS,
    conversations::STATEMENTS,
    credentials::STATEMENTS,
    turns::STATEMENTS,
    messages::STATEMENTS,
    log::STATEMENTS,
];

/// Writes all of `rows`. Keys are released before others are recorded, since a key may move from a
/// failed turn to the next one.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    rows: &Rows,
) -> Result<(), RepositoryError> {
    let mut script = Script::default();
    add_changes(&mut script, rows)?;
    script.run(connection).await
}

/// Writes the rows of `batch` in a transaction, unless a fact has changed on which it was decided;
/// returns true if they were written.
pub(crate) fn write_if_current(
    connection: &mut Connection,
    batch: &PlannedBatch,
) -> Result<bool, WriteError> {
    let mut script = Script::default();
    add_changes(&mut script, &batch.rows).map_err(WriteError::RolledBack)?;
    let rolled_back = |error| WriteError::RolledBack(from_rusqlite(error));
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.map_err(rolled_back)?;
    if !is_current(&transaction, batch).map_err(rolled_back)? {
        return Ok(false);
    }
    script.run_directly(&transaction).map_err(rolled_back)?;
    transaction.commit().map_err(|error| {
        let code = error.sqlite_error().map(|error| error.extended_code);
        commit_error(code, from_rusqlite(error))
    })?;
    Ok(true)
}

/// Returns true if the facts of `batch` are unchanged.
fn is_current(connection: &Connection, batch: &PlannedBatch) -> rusqlite::Result<bool> {
    let PlannedBatch { query, facts, .. } = batch;
    let heads = facts.heads.iter().map(|(of, head)| (of.as_str(), head.0));
    let nodes = query.nodes.iter().map(|id| id.uuid().simple());
    let credentials = facts.credentials.iter();
    let credentials =
        credentials.map(|(id, facts)| (id.as_str(), facts.tenant.as_str(), facts.kind.as_str()));
    let condition = json!({
        "heads": heads.collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
        "keys": query.idempotency.iter().map(key_columns).collect::<Vec<_>>(),
        "credentials": credentials.collect::<Vec<_>>(),
        "names": query.names.iter().map(name_columns).collect::<Vec<_>>(),
    });
    let mut statement = connection.prepare_cached(IS_CURRENT)?;
    statement.query_row([condition.to_string()], |row| row.get(0))
}

fn add_changes(script: &mut Script, rows: &Rows) -> Result<(), RepositoryError> {
    agents::insert(script, &rows.agents)?;
    agents::update(script, &rows.agent_updates)?;
    conversations::insert(script, &rows.conversations)?;
    conversations::advance(script, &rows.advances)?;
    conversations::update(script, &rows.conversation_updates)?;
    conversations::delete(script, &rows.conversation_deletions)?;
    credentials::insert(script, &rows.credentials)?;
    credentials::revoke(script, &rows.revocations)?;
    credentials::change_state(script, rows.state)?;
    turns::insert(script, &rows.turns)?;
    turns::end(script, &rows.ends)?;
    turns::start(script, &rows.starts)?;
    messages::copy(script, &rows.copies)?;
    messages::supersede(script, &rows.superseded)?;
    messages::set_turns(script, &rows.answered)?;
    messages::insert(script, &rows.messages)?;
    log::insert_events(script, &rows.events)?;
    log::insert_snapshots(script, &rows.events)?;
    log::release_keys(script, &rows.released)?;
    log::write_records(script, &rows.idempotency)?;
    log::raise_heads(script, &rows.heads)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
