//! Writes the rows of a plan, with one statement for each table and kind of change.
//!
//! Each column is sent as one array, and `unnest` restores the rows: a batch of hundreds of turns
//! costs as many round trips as a single turn. All statements together cost one round trip;
//! released idempotency keys cost another.

mod conversations;
mod log;
mod messages;
mod turns;

use ports::RepositoryError;
use relational::Rows;
use sqlx::PgConnection;

use crate::cte_batch::CteBatch;

/// The statements of this module.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    conversations::STATEMENTS,
    turns::STATEMENTS,
    messages::STATEMENTS,
    log::STATEMENTS,
];

/// Writes all of `rows`.
pub(crate) async fn write(
    connection: &mut PgConnection,
    rows: &Rows,
) -> Result<(), RepositoryError> {
    // First, since a key may move from a failed turn to the next one.
    let mut batch = CteBatch::default();
    log::release_keys(&mut batch, &rows.released);
    batch.run(connection).await?;
    let mut batch = CteBatch::default();
    conversations::insert(&mut batch, &rows.conversations);
    conversations::advance(&mut batch, &rows.advances);
    turns::insert(&mut batch, &rows.turns);
    turns::end(&mut batch, &rows.ends);
    turns::start(&mut batch, &rows.starts);
    messages::insert(&mut batch, &rows.messages);
    log::insert_events(&mut batch, &rows.events);
    log::write_records(&mut batch, &rows.idempotency);
    log::raise_heads(&mut batch, &rows.heads);
    batch.run(connection).await
}

/// The values of one column of `rows`.
fn column<'r, R, T>(rows: &'r [R], value: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
