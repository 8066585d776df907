//! Writes the rows that a transaction decided on, one statement for each table and kind of change.
//!
//! Rows go over as JSON arrays, ids in hexadecimal, and all statements together: each hop to
//! SQLite's thread and back is time in which nobody else can write.

/// Begins a statement on all rows of its parameter, as entries of `given`. Without `materialized`,
/// SQLite would write out an entry's JSON anew for each column that is taken from it.
macro_rules! given {
    () => {
        "with given as materialized (select value as entry from json_each(?)) "
    };
}

mod conversations;
mod log;
mod messages;
mod turns;

use ports::RepositoryError;
use relational::Rows;
use sqlx::SqliteConnection;

use crate::script::Script;

/// The statements of this folder.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    conversations::STATEMENTS,
    turns::STATEMENTS,
    messages::STATEMENTS,
    log::STATEMENTS,
];

/// Writes all of `rows`. Keys are released before others are claimed: one may pass from a turn
/// that failed to the next.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    rows: &Rows,
) -> Result<(), RepositoryError> {
    let mut script = Script::default();
    conversations::insert(&mut script, &rows.conversations)?;
    conversations::advance(&mut script, &rows.advances)?;
    turns::insert(&mut script, &rows.turns)?;
    turns::end(&mut script, &rows.ends)?;
    turns::start(&mut script, &rows.starts)?;
    messages::insert(&mut script, &rows.messages)?;
    log::insert_events(&mut script, &rows.events)?;
    log::insert_snapshots(&mut script, &rows.events)?;
    log::release_claims(&mut script, &rows.released)?;
    log::write_claims(&mut script, &rows.claims)?;
    log::raise_heads(&mut script, &rows.heads)?;
    script.run(connection).await
}
