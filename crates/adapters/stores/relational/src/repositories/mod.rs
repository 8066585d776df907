//! The ports of a store, implemented once for every database: their reads and the order of steps in
//! their transactions. The statements that differ between databases stand in traits, which each
//! store implements with the texts. The parameters of a statement are named by their numbers.

mod agents;
mod conversations;
mod credentials;
mod events;
mod first_key;
mod idempotency;
mod messages;
mod nodes;
mod signing_keys;
mod store_state;
mod sweeps;
pub(crate) mod tenants;
mod tokens;
mod turns;

pub use agents::{AgentSql, Agents};
pub use conversations::{ConversationSql, Conversations};
pub use credentials::{CredentialSql, Credentials};
pub use events::{EventSql, Events};
pub use first_key::insert_first_key;
pub use idempotency::IdempotencyRecords;
pub use messages::MessageSql;
pub use nodes::{NodeSql, Nodes};
pub use signing_keys::SigningKeys;
pub use sweeps::{SweepSql, Sweeps};
pub use tenants::Tenants;
pub use tokens::Tokens;
pub use turns::{TurnSql, Turns, open_turns};

use crate::LogTrimSql;

/// The statements of a store that runs those of this crate.
pub fn statements<S>() -> impl Iterator<Item = &'static str>
where
    S: AgentSql
        + ConversationSql
        + CredentialSql
        + EventSql
        + LogTrimSql
        + MessageSql
        + NodeSql
        + SweepSql
        + TurnSql,
{
    let statements = [
        <S as AgentSql>::STATEMENTS,
        <S as ConversationSql>::STATEMENTS,
        <S as CredentialSql>::STATEMENTS,
        <S as EventSql>::STATEMENTS,
        <S as LogTrimSql>::STATEMENTS,
        <S as MessageSql>::STATEMENTS,
        <S as NodeSql>::STATEMENTS,
        <S as SweepSql>::STATEMENTS,
        <S as TurnSql>::STATEMENTS,
        idempotency::STATEMENTS,
        signing_keys::STATEMENTS,
        store_state::STATEMENTS,
        tenants::STATEMENTS,
        tokens::STATEMENTS,
    ];
    let statements = statements.into_iter().flatten().copied();
    statements.chain([S::LOCK_TENANT])
}
