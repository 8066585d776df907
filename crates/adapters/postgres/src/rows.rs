//! Writes the rows that a transaction decided on, one statement for each table and kind of change.
//!
//! Rows go over as one array a column, which `unnest` puts together again: a batch of hundreds
//! costs as many round trips as a single one, and all kinds of rows together cost one.

mod conversations;
mod log;
mod messages;
mod turns;

use ports::RepositoryError;
use relational::Rows;
use sqlx::PgConnection;

use crate::script::Script;

/// The statements of this folder.
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
    // Before others are claimed: a key may pass from a turn that failed to the next.
    let mut script = Script::default();
    log::release_claims(&mut script, &rows.released);
    script.run(connection).await?;
    let mut script = Script::default();
    conversations::insert(&mut script, &rows.conversations);
    conversations::advance(&mut script, &rows.advances);
    turns::insert(&mut script, &rows.turns);
    turns::end(&mut script, &rows.ends);
    turns::start(&mut script, &rows.starts);
    messages::insert(&mut script, &rows.messages);
    log::insert_events(&mut script, &rows.events);
    log::write_claims(&mut script, &rows.claims);
    log::raise_heads(&mut script, &rows.heads);
    script.run(connection).await
}

/// One column of `rows`.
fn column<'r, R, T>(rows: &'r [R], value: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
