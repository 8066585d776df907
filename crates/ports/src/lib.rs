//! What the core needs from outside: one trait a file, each with one concrete error.
//!
//! A port is held as `Arc<dyn …>` and chosen at run time. Its methods take domain values whose
//! ids and times were decided before the call; **one method is one transaction** and carries the
//! events that go with the change. The doc comment of a method is its promise, in MUST form, and
//! crate `contract` holds one test per promise, run by every adapter.
//!
//! No constructors, no generics over backends, no transaction handles: an adapter is built in
//! `api/src/wiring.rs` and nowhere else.

pub mod agent_repository;
pub mod claim_repository;
pub mod clock;
pub mod conversation_repository;
pub mod credential_repository;
pub mod document_source;
pub mod error;
pub mod event_bus;
pub mod event_log;
pub mod id_source;
pub mod maintenance;
pub mod node_repository;
pub mod once;
pub mod rate_limiter;
pub mod reply_engine;
pub mod signing_key_repository;
pub mod storage;
pub mod tenant_repository;
pub mod ticket_repository;
pub mod token_repository;
pub mod tool_provider;
pub mod turn_recovery;
pub mod turn_repository;

pub use agent_repository::{AgentFilter, AgentPosition, AgentQuery, AgentRepository};
pub use claim_repository::ClaimRepository;
pub use clock::Clock;
pub use conversation_repository::{
    ConversationFilter, ConversationPosition, ConversationQuery, ConversationRepository,
    HistoryQuery, MessageOrder, MessageQuery,
};
pub use credential_repository::{CredentialRepository, NewProof, ShowKey};
pub use document_source::{DocumentError, DocumentSource, NamedBy};
pub use error::{BoxError, RepositoryError};
pub use event_bus::{EventBus, Signal};
pub use event_log::{
    EventLog, EventPage, EventQuery, EventVisibility, LogBounds, LogHead, LoggedChange, LoggedEvent,
};
pub use id_source::IdSource;
pub use maintenance::{Maintenance, Outdated};
pub use node_repository::NodeRepository;
pub use once::{Committed, Deletion, Once};
pub use rate_limiter::{RateLimiter, RateLimiterError, StreamSlot, Taken};
pub use reply_engine::{
    PrepareError, ReplyChunk, ReplyEngine, ReplyError, ReplyRequest, ReplyStream, UselessAnswer,
};
pub use signing_key_repository::SigningKeyRepository;
pub use storage::Storage;
pub use tenant_repository::TenantRepository;
pub use ticket_repository::TicketRepository;
pub use token_repository::TokenRepository;
pub use tool_provider::{
    AgentTool, CapabilityInfo, CapabilityKind, Provided, ToolArguments, ToolDefinition, ToolError,
    ToolProvider,
};
pub use turn_recovery::{Sweep, Swept, TurnAddress, TurnRecovery};
pub use turn_repository::{
    BeginOutcome, BeginTurn, CancelOutcome, Exchange, ExchangeOutcome, ExchangeTarget,
    FinishOutcome, FinishTurn, FoundTurn, PromotedTurn, Reply, TurnEnding, TurnRepository,
};
