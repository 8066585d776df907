//! Writes the rows that a transaction decided on, one statement for each table and kind of change.
//!
//! Rows go over as one array a column, which `unnest` puts together again: a batch of hundreds
//! costs as many round trips as a single one, and all kinds of rows together cost one (keys that are given
//! back cost another).

mod conversations;
mod log;
mod messages;
mod turns;

use ports::RepositoryError;
use relational::Rows;
use sqlx::PgConnection;

use crate::joint_statement::JointStatement;

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
    let mut joint = JointStatement::default();
    log::release_claims(&mut joint, &rows.released);
    joint.run(connection).await?;
    let mut joint = JointStatement::default();
    conversations::insert(&mut joint, &rows.conversations);
    conversations::advance(&mut joint, &rows.advances);
    turns::insert(&mut joint, &rows.turns);
    turns::end(&mut joint, &rows.ends);
    turns::start(&mut joint, &rows.starts);
    messages::insert(&mut joint, &rows.messages);
    log::insert_events(&mut joint, &rows.events);
    log::write_claims(&mut joint, &rows.claims);
    log::raise_heads(&mut joint, &rows.heads);
    joint.run(connection).await
}

/// One column of `rows`.
fn column<'r, R, T>(rows: &'r [R], value: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
