//! Writes the rows that a transaction decided on, one statement for each table and kind of change.
//!
//! Rows go over as one array a column, which `unnest` puts together again: a batch of hundreds
//! costs as many round trips as a single one.

mod conversations;
mod log;
mod messages;
mod turns;

use ports::RepositoryError;
use relational::Rows;
use sqlx::{
    PgConnection,
    postgres::{PgArguments, Postgres},
    query::Query,
};

use crate::error::from_sqlx;

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
    connection: &mut PgConnection,
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

/// Runs `statement` with all `rows` at once, as `bind` turns them into columns; not at all without
/// any.
async fn run<'r, R>(
    connection: &mut PgConnection,
    statement: &'static str,
    rows: &'r [R],
    bind: impl FnOnce(
        Query<'static, Postgres, PgArguments>,
        &'r [R],
    ) -> Query<'static, Postgres, PgArguments>,
) -> Result<(), RepositoryError> {
    if rows.is_empty() {
        return Ok(());
    }
    bind(sqlx::query(statement), rows)
        .execute(connection)
        .await
        .map_err(from_sqlx)?;
    Ok(())
}

/// One column of `rows`.
fn column<'r, R, T>(rows: &'r [R], value: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
