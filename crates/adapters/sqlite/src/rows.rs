//! Writes the rows that a transaction decided on, one statement for each table and kind of change.
//!
//! Rows go over as one JSON array, because a statement for each row costs a hop to SQLite's thread
//! each time; ids are hexadecimal there.

/// Begins a statement on all rows of its parameter, as entries of `given`. Without `materialized`,
/// SQLite would write out an entry's JSON anew for each column that is taken from it.
macro_rules! given {
    () => {
        "with given as materialized (select value as entry from json_each(?1)) "
    };
}

mod conversations;
mod log;
mod messages;
mod turns;

use ports::RepositoryError;
use relational::Rows;
use serde::Serialize;
use sqlx::SqliteConnection;

use crate::{error::from_sqlx, row};

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
    conversations::insert(connection, &rows.conversations).await?;
    conversations::advance(connection, &rows.advances).await?;
    turns::insert(connection, &rows.turns).await?;
    turns::end(connection, &rows.ends).await?;
    turns::start(connection, &rows.starts).await?;
    messages::insert(connection, &rows.messages).await?;
    log::insert_events(connection, &rows.events).await?;
    log::release_claims(connection, &rows.released).await?;
    log::write_claims(connection, &rows.claims).await?;
    log::raise_heads(connection, &rows.heads).await
}

/// Runs `statement` with all `rows` at once; not at all without any.
async fn run<'r, R, J: Serialize>(
    connection: &mut SqliteConnection,
    statement: &'static str,
    rows: &'r [R],
    json: impl Fn(&'r R) -> Result<J, RepositoryError>,
) -> Result<(), RepositoryError> {
    if rows.is_empty() {
        return Ok(());
    }
    let rows: Vec<J> = rows.iter().map(json).collect::<Result<_, _>>()?;
    sqlx::query(statement)
        .bind(row::to_json(&rows)?)
        .execute(connection)
        .await
        .map_err(from_sqlx)?;
    Ok(())
}
