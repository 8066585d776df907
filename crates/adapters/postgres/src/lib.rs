//! The store on PostgreSQL, 15 or newer.
//!
//! Translates between the ports and SQL, and decides nothing: what a batch of turns does is planned
//! by crate `relational`, alike for every database. Files have the same names as in the SQLite
//! adapter, so that a diff of the folders shows what differs.
//!
//! Every transaction that changes something of a tenant locks the tenant's row first, in a
//! statement of its own. Chats go through one task with a connection of its own (`batch.rs`), all
//! else through a pool (`connections.rs`).
//!
//! To add a statement: a `const` next to the row it reads, and its name in the file's
//! `STATEMENTS`, by which a test prepares it against a migrated database.

mod agents;
mod batch;
mod claims;
mod connections;
mod conversation_row;
mod conversations;
mod credential_row;
mod credentials;
mod error;
mod events;
mod facts;
mod first_key;
mod joint_statement;
mod log_trim;
mod maintenance;
mod messages;
mod nodes;
mod recovery;
mod row;
mod rows;
mod signing_keys;
mod store;
mod store_state;
mod tenants;
mod tickets;
mod tokens;
mod turn_row;
mod turns;

pub use store::{PostgresOptions, PostgresStore};

/// Every statement of this crate, for the test that prepares them.
#[doc(hidden)]
pub fn statements() -> impl Iterator<Item = &'static str> {
    [
        agents::STATEMENTS,
        claims::STATEMENTS,
        conversations::STATEMENTS,
        credentials::STATEMENTS,
        events::STATEMENTS,
        facts::STATEMENTS,
        first_key::STATEMENTS,
        log_trim::STATEMENTS,
        maintenance::STATEMENTS,
        messages::STATEMENTS,
        nodes::STATEMENTS,
        recovery::STATEMENTS,
        signing_keys::STATEMENTS,
        store::STATEMENTS,
        store_state::STATEMENTS,
        tenants::STATEMENTS,
        tickets::STATEMENTS,
        tokens::STATEMENTS,
        turns::STATEMENTS,
    ]
    .into_iter()
    .chain(rows::STATEMENTS.iter().copied())
    .flatten()
    .copied()
}

/// What every connection is told before its first statement, for the test that looks at plans.
#[doc(hidden)]
pub const SETTINGS: &str = connections::SETTINGS;
