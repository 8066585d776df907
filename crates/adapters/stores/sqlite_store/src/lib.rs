//! The store on SQLite: one file, one process.
//!
//! Contains the SQL of the ports, and decides nothing: crate `relational` implements most ports for
//! every database in the same way, with the statements of traits such as `AgentSql`. Files have
//! the same names in both store adapters, so that a diff of the folders shows how they differ.
//!
//! All writes go through one task that owns the only write connection (`writer/`); a running
//! transaction of this task is the lock of every tenant. Reads use a pool of their own and are
//! single statements, so each sees one state.
//!
//! Statements are declared in `statements!`. A test prepares all of them against a migrated database.

use relational::repositories;

/// The store's clock: the time of this machine, in milliseconds since 1970.
macro_rules! now {
    () => {
        "cast(unixepoch('subsec') * 1000 as integer)"
    };
}

mod agents;
mod batch_query;
mod conversation_scans;
mod conversations;
mod credentials;
mod error;
mod events;
mod facts;
mod feedback;
mod files;
mod followers;
mod fragments;
mod location;
mod log_trim;
mod maintenance;
mod messages;
mod nodes;
mod rows;
mod search;
mod store;
mod sweep;
mod tickets;
mod transactions;
mod turn_scans;
mod turns;
mod write_store;
mod writer;

pub use location::{LocationError, file_of};
#[doc(hidden)]
pub use store::{SqliteOptions, SqliteStore};

/// All statements of this crate, for the test that prepares them.
#[doc(hidden)]
pub fn statements() -> impl Iterator<Item = &'static str> {
    [
        credentials::STATEMENTS,
        facts::STATEMENTS,
        log_trim::STATEMENTS,
        maintenance::STATEMENTS,
        sweep::STATEMENTS,
        store::STATEMENTS,
    ]
    .into_iter()
    .chain(rows::STATEMENTS.iter().copied())
    .flatten()
    .copied()
    .chain(repositories::statements::<SqliteStore>())
}
