//! Writes decided rows, with one statement for each row.
//!
//! Batches are written by [`rusqlite`] in the thread of the writer, where a statement costs a few
//! microseconds. The driver needs two context switches for each; it writes what a transaction also
//! reads.

mod agents;
mod change;
mod conditions;
mod conversations;
mod credentials;
mod feedback;
mod files;
mod log;
mod messages;
mod notes;
mod turns;
mod usage;
mod users;

use ports::{ConditionalRows, RepositoryError, Rows};
use rusqlite::{Connection, TransactionBehavior};
use sqlx::SqliteConnection;

use self::change::Changes;
use crate::{
    error::from_rusqlite,
    writer::{WriteError, from_direct_commit},
};

/// The statements of this module.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    conditions::STATEMENTS,
    agents::STATEMENTS,
    conversations::STATEMENTS,
    credentials::STATEMENTS,
    turns::STATEMENTS,
    usage::STATEMENTS,
    users::STATEMENTS,
    messages::STATEMENTS,
    notes::STATEMENTS,
    feedback::STATEMENTS,
    files::STATEMENTS,
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
    if !conditions::hold(&transaction, &write.conditions).map_err(rolled_back)? {
        return Ok(false);
    }
    changes.run_directly(&transaction).map_err(rolled_back)?;
    transaction.commit().map_err(from_direct_commit)?;
    Ok(true)
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
    changes.try_each(&rows.handovers, conversations::hand_over)?;
    changes.each(&rows.conversation_deletions, conversations::delete);
    changes.try_each(&rows.credentials, credentials::insert)?;
    changes.try_each(&rows.credential_updates, credentials::update)?;
    changes.each(&rows.revocations, credentials::revoke);
    credentials::change_state(&mut changes, rows.state);
    changes.try_each(&rows.turns, turns::insert)?;
    changes.try_each(&rows.ends, turns::end)?;
    changes.each(&rows.starts, turns::start);
    changes.try_each(&rows.waits, turns::wait)?;
    changes.each(&rows.assignments, turns::assign);
    changes.each(&rows.calls, turns::set_calls);
    changes.each(&rows.steps, turns::insert_step);
    changes.each(&rows.changed_steps, turns::change_step);
    changes.each(&rows.usage, usage::insert);
    changes.try_each(&rows.users, users::save)?;
    changes.each(&rows.erasures, users::begin_erasure);
    changes.each(&rows.ended_erasures, users::end_erasure);
    changes.each(&rows.copies, messages::copy);
    changes.each(&rows.superseded, messages::supersede);
    changes.each(&rows.superseded, turns::dismiss);
    changes.each(&rows.answered, messages::set_turn);
    changes.try_each(&rows.messages, messages::insert)?;
    changes.each(&rows.rewritten, messages::rewrite);
    changes.each(&rows.deleted_messages, messages::delete);
    changes.try_each(&rows.notes, notes::insert)?;
    changes.each(&rows.deleted_notes, notes::delete);
    changes.each(&rows.files, files::insert);
    changes.each(&rows.file_uses, files::add_use);
    changes.each(&rows.released_files, files::release);
    changes.each(&rows.deleted_files, files::delete);
    changes.each(&rows.uploads, files::count);
    changes.each(&rows.feedback, feedback::save);
    changes.each(&rows.deleted_feedback, feedback::delete);
    changes.each(&rows.events, log::insert_event);
    changes.each(&rows.released, log::release_key);
    changes.each(&rows.idempotency, log::write_record);
    changes.each(&rows.heads, log::raise_head);
    Ok(changes)
}
