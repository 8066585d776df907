//! Writes decided rows, with one statement for each table and kind of change.
//!
//! Rows are sent as one array per column, which `unnest` turns back into rows; if a conditional batch contains
//! one write, the only row of a table is sent as plain values. A batch of hundreds of turns costs as many
//! round trips as a single turn: one for all statements, and another one if idempotency keys are released.

mod agents;
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
use sqlx::{PgConnection, types::Json};

use crate::{
    cte_batch::{CteBatch, with_values},
    error::from_sqlx,
};

const STATEMENTS: &[&[&str]] = &[
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

/// The statements of this module and its conditions, with arrays and with the values of one row.
pub(crate) fn statements() -> impl Iterator<Item = String> {
    let statements = STATEMENTS.iter().copied().flatten();
    let statements = statements.map(|text| (*text).to_owned());
    let texts = statements.chain(conditions::statements());
    texts.flat_map(|text| [with_values(&text), text])
}

/// Writes all of `rows`.
pub(crate) async fn write(
    connection: &mut PgConnection,
    rows: &Rows,
) -> Result<(), RepositoryError> {
    // First, since a key may move from a failed turn to the next one.
    let mut batch = CteBatch::default();
    log::release_keys(&mut batch, &rows.released);
    batch.run(connection).await.map_err(from_sqlx)?;
    let mut batch = CteBatch::default();
    add_changes(&mut batch, rows);
    log::raise_heads(&mut batch, &rows.heads);
    log::replace_records(&mut batch, &rows.idempotency);
    turns::insert_new_steps(&mut batch, &rows.steps);
    batch.run(connection).await.map_err(from_sqlx)?;
    Ok(())
}

/// Writes the rows in one round trip if the conditions hold; returns whether they were written.
pub(crate) async fn write_if(
    connection: &mut PgConnection,
    write: &ConditionalRows,
) -> Result<bool, sqlx::Error> {
    let mut statements = conditions::conditional_batch(write);
    add_changes(&mut statements, &write.rows);
    log::insert_records(&mut statements, &write.rows.idempotency);
    turns::insert_steps(&mut statements, &write.rows.steps);
    statements.run(connection).await
}

/// Adds all changes but those of idempotency keys and heads, and the entries of journals.
fn add_changes(batch: &mut CteBatch, rows: &Rows) {
    // The database server runs the parts from the last to the first. A rotation, too, locks its
    // credential before the state of the store.
    credentials::change_state(batch, rows.state);
    agents::insert(batch, &rows.agents);
    agents::update(batch, &rows.agent_updates);
    agents::delete(batch, &rows.agent_deletions);
    conversations::insert(batch, &rows.conversations);
    conversations::advance(batch, &rows.advances);
    conversations::update(batch, &rows.conversation_updates);
    conversations::hand_over(batch, &rows.handovers);
    conversations::delete(batch, &rows.conversation_deletions);
    credentials::insert(batch, &rows.credentials);
    credentials::update(batch, &rows.credential_updates);
    credentials::revoke(batch, &rows.revocations);
    turns::insert(batch, &rows.turns);
    turns::end(batch, &rows.ends);
    turns::start(batch, &rows.starts);
    turns::wait(batch, &rows.waits);
    turns::assign(batch, &rows.assignments);
    turns::set_calls(batch, &rows.calls);
    turns::change_steps(batch, &rows.changed_steps);
    usage::insert(batch, &rows.usage);
    users::save(batch, &rows.users);
    users::begin_erasures(batch, &rows.erasures);
    users::end_erasures(batch, &rows.ended_erasures);
    messages::insert(batch, &rows.messages);
    messages::rewrite(batch, &rows.rewritten);
    messages::delete(batch, &rows.deleted_messages);
    notes::insert(batch, &rows.notes);
    notes::delete(batch, &rows.deleted_notes);
    files::insert(batch, &rows.files);
    files::add_uses(batch, &rows.file_uses);
    files::release(batch, &rows.released_files);
    files::delete(batch, &rows.deleted_files);
    files::count(batch, &rows.uploads);
    feedback::save(batch, &rows.feedback);
    feedback::delete(batch, &rows.deleted_feedback);
    messages::supersede(batch, &rows.superseded);
    turns::dismiss(batch, &rows.superseded);
    messages::set_turns(batch, &rows.answered);
    messages::copy(batch, &rows.copies);
    log::insert_events(batch, &rows.events);
}

/// The value as JSON, or null if it is empty.
fn json_unless_empty<T>(is_empty: bool, value: T) -> Option<Json<T>> {
    (!is_empty).then_some(Json(value))
}
