//! The store on PostgreSQL, 15 or newer.
//!
//! Contains the SQL of the ports, and decides nothing: crate `relational` implements most ports for
//! every database in the same way, with the statements of traits such as `AgentSql`. Files have
//! the same names in both store adapters, so that a diff of the folders shows how they differ.
//!
//! Every transaction that changes data of a tenant first locks the tenant's row: in a statement of its own,
//! or in the condition of a batch (`rows/conditions.rs`). What is committed in groups has a connection of its
//! own (`write_store.rs`), everything else goes through a pool (`connections/`).
//!
//! Statements are declared in `statements!`. A test prepares all of them against a migrated database.

use std::borrow::Cow;

use relational::repositories;

mod agents;
mod connections;
mod conversation_scans;
mod conversations;
mod credentials;
mod cte_batch;
mod error;
mod events;
mod facts;
mod feedback;
mod files;
mod followers;
mod fragments;
mod log_trim;
mod maintenance;
mod messages;
mod nodes;
mod rows;
mod search;
mod server;
mod store;
mod store_state;
mod sweep;
mod tickets;
mod tls_tunnel;
mod transactions;
mod turn_scans;
mod turns;
mod write_store;

pub use self::{
    error::NotUsableYet,
    store::{PostgresOptions, PostgresStore},
};

/// All statements of this crate, for the test that prepares them.
#[doc(hidden)]
pub fn statements() -> impl Iterator<Item = Cow<'static, str>> {
    let statements = [
        credentials::STATEMENTS,
        facts::STATEMENTS,
        maintenance::STATEMENTS,
        search::STATEMENTS,
        sweep::STATEMENTS,
        server::STATEMENTS,
        store::STATEMENTS,
        store_state::STATEMENTS,
    ];
    let statements = statements.into_iter().flatten().copied();
    let statements = statements.chain(repositories::statements::<PostgresStore>());
    let statements = statements.map(Cow::from);
    statements.chain(rows::statements().map(Cow::from))
}

/// The settings of every connection, for the test of the query plans.
#[doc(hidden)]
pub const SETTINGS: &str = connections::SETTINGS;
