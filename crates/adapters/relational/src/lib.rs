//! The parts of a relational store that do not depend on its database: the order of the steps in
//! each transaction, which writes form one transaction, what it decides and writes, how a page of
//! the event log is built, and how stored rows are converted to domain types.
//!
//! A store implements [`Store`] and the traits of [`repositories`] with its SQL, and gets the
//! ports. It reads [`Facts`] under the tenant lock, has [`plan::plan`] decide on them, and writes
//! the resulting [`Rows`]. Stores decide nothing themselves, so they cannot decide differently.

pub mod batch;
mod calls;
mod changes;
pub mod column;
pub mod event_page;
pub mod event_rows;
pub mod facts;
pub mod group_commit;
pub mod page_budget;
pub mod plan;
pub mod read;
pub mod repositories;
pub mod rows;
mod schema;
pub mod sql_error;
mod store;
pub mod stored;
pub mod text_range;
pub mod write_op;
mod writer_thread;

pub use changes::{
    CreateAgent, CreateConversation, CreateCredential, DeleteConversation, RevokeCredential,
    UpdateAgent, UpdateConversation,
};
pub use event_page::{EventContent, EventRecord, EventScan, EventTurn};
pub use facts::{
    ConversationFacts, CredentialFacts, EventInDoubt, Facts, FactsQuery, InTenant, RecordKey,
};
pub use group_commit::{
    BatchError, BatchStore, CommittedBatch, GroupCommit, HeadsBefore, PlannedBatch, WriteTimeouts,
};
pub use plan::{Plan, plan};
pub use rows::{
    AgentRow, AgentUpdate, ConversationAdvance, ConversationDeletion, ConversationRow,
    ConversationUpdate, EventRow, IdempotencyRow, KeyName, MessageCopy, MessageRow, MessageTurn,
    ReleasedKey, Revocation, Rows, StateChange, SupersededMessages, TurnEnd, TurnRow, TurnStart,
};
pub use schema::{SchemaError, pending_migrations};
pub use store::{Store, Work};
pub use write_op::{Outcomes, WriteOp, WriteOutcome};
pub use writer_thread::WriterThread;
