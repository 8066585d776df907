//! Use cases. What a change of stored data does is decided by the commands of `writes`.
//!
//! A service decides. It neither formats, which is the task of the interface, nor translates, which
//! is the task of an adapter. It reaches everything outside through ports alone. It takes the
//! caller as a [`domain::Principal`], and restricts it to its tenant and to its conversations.
//!
//! To add a use case: add a method to the service of its resource and an error variant to the enum
//! of that service. If it needs more from outside, add a method to a port, with its tests in
//! `contract`.

pub mod agents;
pub mod background;
pub mod cache;
pub mod chat;
pub mod conversations;
mod detach_on_drop;
pub mod engines;
pub mod erasure;
pub mod events;
pub mod expiry;
pub mod exports;
mod file_memory;
pub mod files;
pub mod followers;
pub mod idempotency;
mod keyed_semaphore;
pub mod live_turns;
pub mod log_positions;
pub mod node;
mod pauses;
pub mod principal_limits;
pub mod purge;
pub mod realtime;
pub mod remote_turns;
pub mod retention;
pub mod search;
pub mod sweep;
pub mod titles;
pub mod toolbox;
pub mod turns;
pub mod unnamed_messages;
pub mod users;
mod version_condition;

pub use agents::{AgentError, AgentLimits, AgentService};
pub use chat::{ChatCommand, ChatError, ChatService};
pub use conversations::{ConversationError, ConversationService};
pub use engines::Engines;
pub use events::{EventError, EventService};
pub use exports::ExportService;
pub use file_memory::{FileMemory, OutOfMemory, TakenMemory};
pub use files::{FileError, FileService, FileUpload};
pub use idempotency::{Created, IdempotencyConflict};
pub use keyed_semaphore::KeyedSemaphore;
pub use log_positions::LogPositions;
pub use toolbox::Toolbox;
pub use turns::{TurnError, TurnService};
pub use users::{UserError, UserService};
pub use version_condition::VersionCondition;

/// The maximum page size of every listing.
pub const PAGE_LIMIT: usize = 100;
