//! The ports of a store. Each is implemented once, on a trait with the SQL that it needs, which each
//! store implements: the order of steps in a transaction is the same for every database.

mod agents;
mod conversations;
mod credentials;
mod events;
mod first_key;
mod nodes;
mod recovery;
mod signing_keys;
mod turns;

pub use agents::{AgentSql, Agents};
pub use conversations::{ConversationSql, Conversations};
pub use credentials::{CredentialSql, Credentials};
pub use events::{EventSql, Events};
pub use first_key::insert_first_key;
pub use nodes::{NodeSql, Nodes};
pub use recovery::{Recovery, RecoverySql};
pub use signing_keys::{SigningKeySql, SigningKeys};
pub use turns::{TurnSql, Turns, open_turns};
