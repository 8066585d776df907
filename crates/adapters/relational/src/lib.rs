//! What every relational store does alike, without a database: which writes go into one
//! transaction, what such a transaction decides and writes, what a page of the log shows, and how
//! values of columns are read.
//!
//! A store reads [`Facts`] under the tenant lock, has [`plan::plan`] decide on them, and writes
//! the [`Rows`] that come out. It decides nothing itself, so two stores cannot decide differently.

pub mod batch;
mod calls;
pub mod column;
pub mod event_page;
pub mod event_rows;
pub mod facts;
pub mod group_commit;
pub mod item;
pub mod page_room;
pub mod plan;
pub mod proof;
pub mod rows;
pub mod text_range;
mod writing_thread;

pub use event_page::{EventContent, EventRecord, EventScan, EventTurn};
pub use facts::{ClaimKey, ConversationFacts, EventInDoubt, Facts, FactsQuery, InTenant};
pub use group_commit::{BatchError, BatchStore, GroupCommit, HeadsBefore, Patience};
pub use item::{Item, Outcome, Outcomes};
pub use plan::{Plan, plan};
pub use proof::ProofColumns;
pub use rows::{
    ClaimName, ClaimRow, ConversationAdvance, ConversationRow, EventRow, MessageRow, ReleasedClaim,
    Rows, TurnEnd, TurnRow, TurnStart,
};
pub use writing_thread::WritingThread;
