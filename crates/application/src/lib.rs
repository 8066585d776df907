//! Use cases: the only place with business sequence.
//!
//! A service decides; it neither formats (that is the interface's work) nor translates (that is
//! an adapter's). It reaches the world through ports alone, and takes the caller as a
//! [`domain::Principal`]: whose tenant, and whose conversations, is decided here.
//!
//! To add a use case: a method on the service of its resource, an error variant in that service's
//! enum, and, if it needs more from outside, a method on a port with its promise in `contract`.

pub mod access;
pub mod agents;
mod background;
pub mod cache;
pub mod chat;
pub mod conversations;
mod detach_on_drop;
pub mod engines;
pub mod events;
pub mod idempotency;
mod keyed_semaphore;
pub mod node;
pub mod purge;
pub mod realtime;
pub mod recovery;
pub mod retention;
pub mod toolbox;
pub mod turns;
mod version_condition;

pub use access::{Authenticator, CredentialService};
pub use agents::{AgentError, AgentLimits, AgentService};
pub use chat::{ChatCommand, ChatError, ChatService};
pub use conversations::{ConversationError, ConversationService};
pub use engines::Engines;
pub use events::{EventError, EventService};
pub use idempotency::{Created, IdempotencyRefused};
pub use keyed_semaphore::KeyedSemaphore;
pub use toolbox::Toolbox;
pub use turns::{TurnError, TurnService};
pub use version_condition::VersionCondition;

/// Longest page of every listing.
pub const PAGE_LIMIT: usize = 100;
