//! The interfaces between the core and everything outside it: a file for each need, with its trait and one
//! concrete error type.
//!
//! A port is held as `Arc<dyn …>` and selected at run time. Its methods take domain values whose
//! ids and times were assigned before the call. **One method is one transaction**, which includes
//! the events of the change. The doc comment of a method is its contract, in MUST form. The crate
//! `contract` has one test per promise, and every adapter runs them.
//!
//! There are no constructors, no generics over backends and no transaction handles: adapters are
//! built in `crates/api/src/wiring` only.

pub mod agent_repository;
pub mod blob_store;
pub mod clock;
pub mod conversation_repository;
mod conversation_scan;
pub mod credential_repository;
pub mod document_source;
pub mod erasure_repository;
pub mod error;
pub mod event_bus;
pub mod event_log;
pub mod feedback_repository;
mod file_repository;
pub mod file_scanner;
pub mod follower_repository;
pub mod home;
pub mod id_source;
pub mod idempotency_repository;
pub mod idempotent;
pub mod maintenance;
pub mod node_repository;
pub mod note_repository;
pub mod rate_limiter;
pub mod reply_engine;
pub mod schema_checker;
pub mod search_index;
pub mod signing_key_repository;
pub mod storage;
pub mod sweep_repository;
pub mod tenant_repository;
pub mod ticket_repository;
pub mod token_repository;
pub mod tool_provider;
pub mod tool_tokens;
pub mod turn_repository;
pub mod user_repository;
mod web_file_source;
pub mod write_store;

pub use agent_repository::{AgentFilter, AgentPosition, AgentQuery, AgentRepository};
pub use blob_store::{BlobError, BlobKeys, BlobStore, BlobStream};
pub use clock::Clock;
pub use conversation_repository::{
    ConversationFilter, ConversationName, ConversationPosition, ConversationQuery,
    ConversationRepository, ConversationText, FirstMessages, ForkedMessages, FoundMessage,
    Handling, HistoryQuery, ListingOrder, MessageCounts, MessageQuery, MessageReference,
    SORT_SEQ_OF_RESULT,
};
pub use conversation_scan::{
    ConversationConditions, ConversationScan, RatingCondition, SCAN_LENGTH, ScanOrder,
    ScannedConversations,
};
pub use credential_repository::{CredentialRepository, NewProof, ShowKey};
pub use document_source::{DocumentError, DocumentSource, UrlTrust};
pub use erasure_repository::{ErasureRepository, PendingErasure};
pub use error::{BoxError, RepositoryError};
pub use event_bus::{BreakerName, EventBus, ReplyPart, Signal, SignalFilter};
pub use event_log::{
    ContentQuery, EventContent, EventDecision, EventLog, EventPage, EventQuery, EventRecord,
    EventScan, EventTurn, EventVisibility, LogBounds, LogHead, LoggedChange, LoggedEvent,
    SelectedEvents,
};
pub use feedback_repository::{FeedbackPage, FeedbackQuery, FeedbackRepository};
pub use file_repository::FileRepository;
pub use file_scanner::FileScanner;
pub use follower_repository::{FollowerPosition, FollowerRepository, FollowerStep};
pub use home::{FarNodes, Forwarding, Home, HomeBody, HomeError, HomeStatus, SentBody};
pub use id_source::IdSource;
pub use idempotency_repository::IdempotencyRepository;
pub use idempotent::Idempotent;
pub use maintenance::{Maintenance, RetentionCutoffs};
pub use node_repository::{
    FarNodeReport, LiveNode, LiveNodes, Membership, NodeInFarRegion, NodeProcess, NodeRepository,
};
pub use note_repository::NoteRepository;
pub use rate_limiter::{QuotaDecision, RateLimiter, RateLimiterError, StreamSlot};
pub use reply_engine::{
    FileContents, ModelChunk, ModelRequest, ModelStream, PrepareError, ReplyEngine, ReplyError,
    RequestedCall, ToldCause, ToolChoice, ToolUse, UnusableReply,
};
pub use schema_checker::{SchemaChecker, SchemaError};
pub use search_index::{
    RemovedEntries, RemovedMessages, SEARCH_FOLLOWER, SearchEntry, SearchIndex, SearchMatch,
    SearchPosition, SearchQuery, TITLE_SEQ,
};
pub use signing_key_repository::SigningKeyRepository;
pub use storage::Storage;
pub use sweep_repository::{AgentRetention, SweepRepository, TurnAddress};
pub use tenant_repository::TenantRepository;
pub use ticket_repository::TicketRepository;
pub use token_repository::TokenRepository;
pub use tool_provider::{
    AgentTool, CapabilityInfo, CapabilityKind, ProvidedTools, ToolArguments, ToolContext,
    ToolDefinition, ToolError, ToolHints, ToolProvider,
};
pub use tool_tokens::{ToolTokenError, ToolTokens};
pub use turn_repository::{
    FoundTurn, ScannedTurns, TurnConditions, TurnFilter, TurnPosition, TurnQuery, TurnRepository,
    TurnScan, WaitingFor,
};
pub use user_repository::UserRepository;
pub use web_file_source::{WebFile, WebFileSource};
pub use write_store::{
    ConditionalRows, Conditions, Decided, Decision, Facts, FactsQuery, Lane, Rows, Transacted,
    WriteError, WriteStore,
};
