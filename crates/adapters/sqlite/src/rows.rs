//! Writes the rows of a plan, with one statement for each table and kind of change.
//!
//! Rows are sent as JSON arrays with hexadecimal ids, and all statements together: during each
//! round trip to SQLite's thread no other write can run.

/// The start of a statement on all rows of its parameter, as entries of `given`. Without
/// `materialized`, SQLite would serialise the JSON of an entry again for each extracted column.
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

/// The statements of this module.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    conversations::STATEMENTS,
    turns::STATEMENTS,
    messages::STATEMENTS,
    log::STATEMENTS,
];

/// Writes all of `rows`. Keys are released before others are claimed, since a key may move from a
/// failed turn to the next one.
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
    log::release_keys(&mut script, &rows.released)?;
    log::write_records(&mut script, &rows.idempotency)?;
    log::raise_heads(&mut script, &rows.heads)?;
    script.run(connection).await
}
