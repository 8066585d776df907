//! The ports of a store, implemented once for every database: their reads and the order of steps in
//! their transactions. The statements that differ between databases stand in traits, which each
//! store implements with the texts. The parameters of a statement are named by their numbers.

mod agents;
mod conversation_scans;
mod conversations;
mod credentials;
mod erasures;
mod events;
mod feedback;
mod files;
mod first_key;
mod followers;
mod histories;
mod idempotency;
mod messages;
mod nodes;
mod notes;
mod signing_keys;
mod store_state;
mod sweeps;
pub(crate) mod tenants;
mod tickets;
mod tokens;
mod turn_scans;
mod turns;
mod users;

pub use agents::AgentSql;
pub use conversation_scans::ConversationScanSql;
pub use conversations::ConversationSql;
pub use credentials::CredentialSql;
use erasures::ErasureSql;
pub use events::EventSql;
pub use feedback::FeedbackSql;
pub use files::FileSql;
pub use first_key::insert_first_key;
pub use followers::{
    FollowerSql, StoredPosition, advance_in, follower_position, follower_positions, position,
};
pub use messages::MessageSql;
pub use nodes::NodeSql;
pub use sweeps::SweepSql;
pub use tickets::TicketSql;
pub use turn_scans::TurnScanSql;
pub use turns::{TurnSql, open_turns};

use std::sync::Arc;

use ports::{Maintenance, SearchIndex, Storage, WriteStore};

use crate::{
    LogTrimSql, Store, log_trim,
    read::{ListedRow, ReadAs},
    stored::{
        StoredFoundUser, StoredNote, StoredRecord, StoredSigningKey, StoredTenant, StoredUser,
    },
};

/// The statements of a store on all that it stores.
pub trait RepositorySql:
    AgentSql
    + ConversationScanSql
    + ConversationSql
    + CredentialSql
    + ErasureSql
    + EventSql
    + FeedbackSql
    + FileSql
    + FollowerSql
    + LogTrimSql
    + MessageSql
    + NodeSql
    + SweepSql
    + TicketSql
    + TurnScanSql
    + TurnSql
    + Store<
        Row: ReadAs<StoredRecord>
                 + ReadAs<StoredSigningKey>
                 + ReadAs<StoredTenant>
                 + ReadAs<StoredFoundUser>
                 + ReadAs<StoredNote>
                 + ReadAs<ListedRow<StoredNote>>
                 + ReadAs<ListedRow<StoredUser>>,
    >
{
}

/// The ports of a store that are the same on all databases.
struct Repositories<S>(S);

/// Returns the ports of a store: those of this crate, and those that are its own.
pub fn storage<S: RepositorySql>(
    store: S,
    writes: Arc<dyn WriteStore>,
    maintenance: Arc<dyn Maintenance>,
    search: Arc<dyn SearchIndex>,
) -> Storage {
    let repositories = Arc::new(Repositories(store));
    Storage {
        writes,
        agents: repositories.clone(),
        conversations: repositories.clone(),
        feedback: repositories.clone(),
        files: repositories.clone(),
        erasures: repositories.clone(),
        followers: repositories.clone(),
        search,
        turns: repositories.clone(),
        sweep: repositories.clone(),
        idempotency: repositories.clone(),
        events: repositories.clone(),
        credentials: repositories.clone(),
        tokens: repositories.clone(),
        tickets: repositories.clone(),
        signing_keys: repositories.clone(),
        tenants: repositories.clone(),
        notes: repositories.clone(),
        users: repositories.clone(),
        nodes: repositories,
        maintenance,
    }
}

/// The statements of a store that runs those of this crate.
pub fn statements<S: RepositorySql>() -> impl Iterator<Item = &'static str> {
    let statements = [
        <S as AgentSql>::STATEMENTS,
        <S as ConversationScanSql>::STATEMENTS,
        <S as ConversationSql>::STATEMENTS,
        <S as CredentialSql>::STATEMENTS,
        <S as EventSql>::STATEMENTS,
        <S as FeedbackSql>::STATEMENTS,
        <S as FileSql>::STATEMENTS,
        <S as FollowerSql>::STATEMENTS,
        <S as LogTrimSql>::STATEMENTS,
        <S as MessageSql>::STATEMENTS,
        <S as NodeSql>::STATEMENTS,
        <S as SweepSql>::STATEMENTS,
        <S as TicketSql>::STATEMENTS,
        <S as TurnScanSql>::STATEMENTS,
        <S as TurnSql>::STATEMENTS,
        credentials::STATEMENTS,
        erasures::STATEMENTS,
        events::STATEMENTS,
        files::STATEMENTS,
        followers::STATEMENTS,
        idempotency::STATEMENTS,
        log_trim::STATEMENTS,
        nodes::STATEMENTS,
        notes::STATEMENTS,
        signing_keys::STATEMENTS,
        store_state::STATEMENTS,
        tenants::STATEMENTS,
        tokens::STATEMENTS,
        users::STATEMENTS,
    ];
    let statements = statements.into_iter().flatten().copied();
    statements.chain([S::LOCK_TENANT])
}
