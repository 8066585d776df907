//! Writes decided rows, with one statement for each row.
//!
//! Batches are written by [`rusqlite`] in the thread of the writer, where a statement costs a few
//! microseconds. The driver needs two context switches for each; it writes what a transaction also
//! reads.

mod agents;
mod change;
mod conversations;
mod credentials;
mod log;
mod messages;
mod turns;

use ports::{ConditionalRows, Conditions, RepositoryError, Rows};
use rusqlite::{Connection, Params, TransactionBehavior, params};
use sqlx::SqliteConnection;

use self::change::Changes;
use crate::{
    error::from_rusqlite,
    facts::key_columns,
    writer::{WriteError, from_direct_commit},
};

// The conditions: each statement finds a row if the condition holds (or, if its name says so, if it
// does not).
const HEAD_IS_CURRENT: &str = "select 1 from tenants where id = ? and head_seq = ?";
const NODE_IS_LIVE: &str = "select 1 from nodes where id = ? and swept = 0";
const CREDENTIAL_IS_VALID: &str = "\
    select 1 from credentials \
    where id = ? and tenant_id = ? and kind = ? and revoked_at is null";
const KEY_IS_USED: &str = "\
    select 1 from idempotency_records \
    where tenant_id = ? and principal = ? and operation = ? and key = ?";
const NAME_IS_USED: &str = "\
    select 1 from conversations \
    where tenant_id = ? and agent_id = ? and coalesce(user_id, '') = ? and key = ? \
        and key is not null and deleted_at is null";

/// The statements of this module.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    &[
        HEAD_IS_CURRENT,
        NODE_IS_LIVE,
        CREDENTIAL_IS_VALID,
        KEY_IS_USED,
        NAME_IS_USED,
    ],
    agents::STATEMENTS,
    conversations::STATEMENTS,
    credentials::STATEMENTS,
    turns::STATEMENTS,
    messages::STATEMENTS,
    log::STATEMENTS,
];

/// Writes all of `rows` through the driver.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    rows: &Rows,
) -> Result<(), RepositoryError> {
    changes(rows)?.run(connection).await
}

/// Writes all of `rows` in this thread.
pub(crate) fn write_directly(connection: &Connection, rows: &Rows) -> Result<(), RepositoryError> {
    let written = changes(rows)?.run_directly(connection);
    written.map_err(from_rusqlite)
}

/// Writes the rows in a transaction if the conditions hold; returns true if they were written.
pub(crate) fn write_if(
    connection: &mut Connection,
    write: &ConditionalRows,
) -> Result<bool, WriteError> {
    let changes = changes(&write.rows).map_err(WriteError::RolledBack)?;
    let rolled_back = |error| WriteError::RolledBack(from_rusqlite(error));
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.map_err(rolled_back)?;
    if !hold(&transaction, &write.conditions).map_err(rolled_back)? {
        return Ok(false);
    }
    changes.run_directly(&transaction).map_err(rolled_back)?;
    transaction.commit().map_err(from_direct_commit)?;
    Ok(true)
}

/// Returns true if all conditions hold.
fn hold(connection: &Connection, conditions: &Conditions) -> rusqlite::Result<bool> {
    let Conditions {
        heads,
        live_nodes,
        unused_keys,
        unused_names,
        valid_credentials,
    } = conditions;
    for (tenant, head) in heads {
        let head = params![tenant.as_str(), head.0];
        if !exists(connection, HEAD_IS_CURRENT, head)? {
            return Ok(false);
        }
    }
    for node in live_nodes {
        if !exists(connection, NODE_IS_LIVE, [node.uuid().as_bytes()])? {
            return Ok(false);
        }
    }
    for key in valid_credentials {
        let key = (key.id.as_str(), key.tenant.as_str(), key.kind.as_str());
        if !exists(connection, CREDENTIAL_IS_VALID, key)? {
            return Ok(false);
        }
    }
    for key in unused_keys {
        if exists(connection, KEY_IS_USED, key_columns(key))? {
            return Ok(false);
        }
    }
    for (tenant, name) in unused_names {
        let user = name.user_id.as_deref().unwrap_or_default();
        let agent = name.agent_id.uuid();
        let name = params![tenant.as_str(), agent.as_bytes(), user, name.key.as_str()];
        if exists(connection, NAME_IS_USED, name)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn exists(
    connection: &Connection,
    statement: &str,
    parameters: impl Params,
) -> rusqlite::Result<bool> {
    connection.prepare_cached(statement)?.exists(parameters)
}

/// The statements that write `rows`. Keys are released before others are recorded, since a key may
/// move from a failed turn to the next one.
fn changes(rows: &Rows) -> Result<Changes<'_>, RepositoryError> {
    let mut changes = Changes::default();
    changes.try_each(&rows.agents, agents::insert)?;
    changes.try_each(&rows.agent_updates, agents::update)?;
    changes.each(&rows.agent_deletions, agents::delete);
    changes.try_each(&rows.conversations, conversations::insert)?;
    changes.each(&rows.advances, conversations::advance);
    changes.try_each(&rows.conversation_updates, conversations::update)?;
    changes.each(&rows.conversation_deletions, conversations::delete);
    changes.try_each(&rows.credentials, credentials::insert)?;
    changes.each(&rows.revocations, credentials::revoke);
    credentials::change_state(&mut changes, rows.state);
    changes.try_each(&rows.turns, turns::insert)?;
    changes.try_each(&rows.ends, turns::end)?;
    changes.each(&rows.starts, turns::start);
    changes.each(&rows.copies, messages::copy);
    changes.each(&rows.superseded, messages::supersede);
    changes.each(&rows.answered, messages::set_turn);
    changes.each(&rows.messages, messages::insert);
    changes.each(&rows.events, log::insert_event);
    changes.each(&rows.released, log::release_key);
    changes.each(&rows.idempotency, log::write_record);
    changes.each(&rows.heads, log::raise_head);
    Ok(changes)
}
